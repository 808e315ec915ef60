"""Ed25519 a second way: the equations of RFC 8032 in plain integers, as slow as they are short."""

import hashlib

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)


def _even_root(y):
    """Return the x of a point on the curve -x^2 + y^2 = 1 + d x^2 y^2."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P:
        return None
    return x if x % 2 == 0 else _P - x


def _add(one, other):
    (a, b), (c, d) = one, other
    product = _D * a * b * c * d % _P
    x = (a * d + b * c) * pow(1 + product, -1, _P)
    y = (b * d + a * c) * pow(1 - product, -1, _P)
    return x % _P, y % _P


def _times(number, point):
    found = (0, 1)
    while number:
        if number & 1:
            found = _add(found, point)
        point, number = _add(point, point), number >> 1
    return found


def _point(content):
    number = int.from_bytes(content, "little")
    y, is_odd = number & (2**255 - 1), number >> 255
    x = _even_root(y)
    if y >= _P or x is None:
        return None
    return (_P - x if is_odd else x), y


_Y = 4 * pow(5, -1, _P) % _P
_BASE = (_even_root(_Y), _Y)


def verifies(public, message, signature):
    key, commitment, response = _point(public), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or response >= _ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    return _times(response, _BASE) == _add(commitment, _times(challenge, key))
