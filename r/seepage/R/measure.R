# Measure a fitted regression: its formula and family are fitted again to the same people, and the numbers that R
# prints are compared with that fit.

seepage_measure <- function(fit, data = NULL, ...) {
  if (is.null(data)) data <- data_of(fit)
  python <- seepage_module()
  model <- model_of(fit)
  frame <- as_pandas(data)
  numbers <- printed_numbers(fit)
  on.exit(unlink(numbers))
  # Stops if R's numbers are not those of the fit that is measured.
  do.call(python$models$ModelTable, c(model, numbers = numbers))$on(frame)$comparison
  structure(
    list(leakage = python$measure(do.call(python$models$ModelTable, model), frame, ...)),
    class = "seepage_leakage"
  )
}

seepage_statement <- function(fit, data = NULL, ...) {
  leakage <- if (inherits(fit, "seepage_leakage")) fit else seepage_measure(fit, data, ...)
  as.character(reticulate::py_str(leakage$leakage$statement()))
}

format.seepage_leakage <- function(x, ...) as.character(x$leakage$summary())

print.seepage_leakage <- function(x, ...) {
  cat(format(x), sep = "\n")
  invisible(x)
}

# The data frame that the fit was called with, with all of its rows.
data_of <- function(fit) {
  data <- eval(fit$call$data, environment(stats::formula(fit)))
  if (!is.data.frame(data)) {
    stop("The fit names no data frame. Give it: seepage_measure(fit, data = people).", call. = FALSE)
  }
  if (!is.null(fit$call$subset)) {
    stop("The fit used subset=. Filter the data frame first, and fit without it.", call. = FALSE)
  }
  data
}

model_of <- function(fit) {
  for (argument in c("weights", "offset", "cluster", "robust", "control", "contrasts")) {
    if (!is.null(fit$call[[argument]])) {
      stop("The fit used ", argument, "=, which is not read from R.\n",
           "Offsets are read in the formula, as offset(log(years)).", call. = FALSE)
    }
  }
  model <- list(formula = paste(deparse(stats::formula(fit), width.cutoff = 500L), collapse = " "))
  if (inherits(fit, "coxph")) {
    if (!fit$method %in% c("efron", "breslow")) {
      stop("Ties are counted by the method '", fit$method, "'. Fit with ties = \"efron\".", call. = FALSE)
    }
    model <- c(model, family = "cox", ties = fit$method)
  } else if (identical(class(fit), "lm")) {
    model <- c(model, family = "gaussian")
  } else if (identical(class(fit), c("glm", "lm"))) {
    model <- c(model, family = stats::family(fit)$family, link = stats::family(fit)$link)
  } else {
    stop("A fit of class '", class(fit)[1], "' is not read. Fits of lm, glm and coxph are.", call. = FALSE)
  }
  model
}

# The coefficient table of summary(), as a file that the Python package compares with its own fit.
printed_numbers <- function(fit) {
  file <- tempfile(fileext = ".csv")
  table <- stats::coef(summary(fit))
  # Standard errors of a link that is not canonical are of the expected information.
  if (inherits(fit, "glm") && !is_canonical(stats::family(fit))) table <- table[, 1, drop = FALSE]
  utils::write.csv(table, file)
  file
}

is_canonical <- function(family) {
  links <- c(gaussian = "identity", binomial = "logit", poisson = "log", Gamma = "inverse", inverse.gaussian = "1/mu^2")
  identical(unname(links[family$family]), family$link)
}

# The data frame in pandas. It crosses as text with all digits, so that no version of reticulate reads it otherwise.
as_pandas <- function(data) {
  pandas <- reticulate::import("pandas", convert = FALSE)
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  texts <- write_people(data, file)
  kinds <- stats::setNames(as.list(rep("object", length(texts))), texts)
  pandas$read_csv(file, dtype = reticulate::dict(kinds), keep_default_na = FALSE, na_values = list(""))
}

# Write a data frame as CSV, and return the columns that are text.
write_people <- function(data, file) {
  is_text <- function(column) is.factor(column) || is.character(column)
  texts <- names(data)[vapply(data, is_text, logical(1))]
  for (name in names(data)) {
    column <- data[[name]]
    if (name %in% texts) {
      data[[name]] <- as.character(column)
    } else if (is.numeric(column)) {
      data[[name]] <- ifelse(is.na(column), NA, formatC(as.numeric(column), digits = 17, format = "g", width = 1))
    } else if (!is.logical(column)) {
      stop("Column '", name, "' is of class '", class(column)[1], "'. Give numbers, text, factors or logicals.",
           call. = FALSE)
    }
  }
  utils::write.csv(data, file, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  texts
}

seepage_module <- function() {
  if (!reticulate::py_module_available("seepage")) {
    stop("The Python package seepage is not installed in this Python.\n",
         "Install it: reticulate::py_install(c(\"seepage[cli,statsmodels]\", \"pandas\"), pip = TRUE).", call. = FALSE)
  }
  reticulate::import("seepage")
}
