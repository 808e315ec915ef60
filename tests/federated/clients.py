"""A small client and its messages, as Flower hands them over, without any process."""

import time

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, Metadata, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import nn

import seepage

PEOPLE = 40


class Net(nn.Module):
    """With one value a person, unless told otherwise."""

    def __init__(self, values=1):
        super().__init__()
        self.first = nn.Linear(values, 4)
        self.second = nn.Linear(4, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def people(message, context):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(PEOPLE, 1, generator=generator), torch.randint(3, (PEOPLE,), generator=generator)


def weights():
    torch.manual_seed(3)
    return Net().state_dict()


def training(**changed):
    return seepage.federated.LocalTraining(
        **{
            "steps": 1,
            "batch_size": PEOPLE,
            "max_grad_norm": 0.5,
            "noise_multiplier": 1.0,
            "learning_rate": 0.1,
            **changed,
        }
    )


def clipped(plan, model, x, y):
    """Each person's gradient, clipped the way Opacus does it, by name: shape (people, ...)."""

    def loss(parameters, one, label):
        output = torch.func.functional_call(model, parameters, (one.unsqueeze(0),))
        return nn.functional.cross_entropy(output, label.unsqueeze(0))

    parameters = {name: value.detach() for name, value in model.named_parameters() if value.requires_grad}
    grads = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(parameters, x, y)
    if plan.max_grad_norm is None:
        return grads
    norms = torch.cat([g.flatten(1) for g in grads.values()], 1).norm(dim=1)
    factor = (plan.max_grad_norm / (norms + 1e-6)).clamp(max=1.0)
    return {name: g * factor.view(-1, *(1,) * (g.dim() - 1)) for name, g in grads.items()}


def fit(model, x, y, plan):
    """Plain private gradient descent over everybody."""
    for _ in range(plan.steps):
        found = clipped(plan, model, x, y)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name not in found:
                    continue
                noisy = found[name].sum(0) + plan.noise_scale * torch.randn(parameter.shape)
                parameter -= plan.learning_rate * noisy / plan.batch_size


def client(plan=None, *, fit=fit, **options):
    """A real `ClientApp` with the mod on."""
    plan = plan or training()
    settings = {
        "model": Net,
        "loss": nn.CrossEntropyLoss(),
        "data": people,
        "training": plan,
        "policy": seepage.federated.LayerPolicy(dfil=1e6),
        "on_breach": "refuse",
        **options,
    }
    app = ClientApp(mods=[seepage.federated.leakage_mod(**settings)])

    @app.train()
    def train(message, context):
        model = Net()
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        try:
            x, y = settings["data"](message, context)
        except ValueError:
            x, y = people(message, context)
        fit(model, x, y, plan)
        return reply_with(message, model.state_dict(), **{"num-examples": len(x)})

    return app


def reply_with(message, state, **metrics):
    content = {"arrays": ArrayRecord(dict(state)), "metrics": MetricRecord({"num-examples": PEOPLE, **metrics})}
    return Message(RecordDict(content), reply_to=message)


def asked(message_type="train", state=None, node=11):
    content = {"arrays": ArrayRecord(dict(state or weights())), "config": ConfigRecord({"server-round": 1})}
    # What the SuperLink fills in on its way.
    about = Metadata(
        run_id=1,
        message_id="asked",
        src_node_id=1,
        dst_node_id=node,
        reply_to_message_id="",
        group_id="1",
        created_at=time.time(),
        ttl=3600,
        message_type=message_type,
    )
    return Message(content=RecordDict(content), metadata=about)


def context():
    return Context(run_id=1, node_id=11, node_config={}, state=RecordDict(), run_config={})


def answer(app, message=None):
    return app(message or asked(), context())


def sent(reply):
    return {name: value.numpy() for name, value in reply.content["arrays"].items()}
