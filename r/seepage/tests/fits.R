# The numbers are those of the Python package on the same people; a fit that is not read is refused.
if (!reticulate::py_module_available("seepage")) quit(status = 0)
library(seepage)
library(survival)

refused <- function(expression, words) {
  message <- tryCatch({ expression; "" }, error = conditionMessage)
  if (!grepl(words, message, fixed = TRUE)) stop("expected '", words, "', not: ", message)
}

set.seed(1)
people <- data.frame(age = round(rnorm(300, 60, 9)), ward = factor(sample(c("1", "2", "10"), 300, TRUE)))
people$ill <- rbinom(300, 1, plogis((people$age - 60) / 9))
people$week <- rexp(300, exp((people$age - 60) / 20)) + 0.1

logistic <- glm(ill ~ age + ward, family = binomial, data = people)
leakage <- seepage_measure(logistic)
print(leakage)
cat(seepage_statement(leakage), "\n")
stopifnot(leakage$leakage$examples$shape[[1]] == 300L)

# With noise, against the information of a linear regression: eta of the outcome is a norm of its leverage row.
linear <- lm(age ~ ill, data = people)
noisy <- seepage_measure(linear, noise_scale = 0.5)
x <- model.matrix(linear)
by_hand <- sqrt(rowSums((x %*% solve(crossprod(x)))^2)) / 0.5
eta <- noisy$leakage$attributes$age$tolist()
stopifnot(max(abs(eta - by_hand)) < 1e-9)

cat(seepage_statement(coxph(Surv(week, ill) ~ age + ward, data = people)), "\n")

refused(seepage_measure(glm(ill ~ age, binomial, people, weights = age)), "weights=")
refused(seepage_measure(lm(age ~ ill, people, subset = age > 50)), "subset=")
refused(seepage_measure(loess(age ~ week, people)), "class 'loess' is not read")
wrong <- linear
wrong$coefficients[2] <- wrong$coefficients[2] * 1.01
refused(seepage_measure(wrong), "Were other people")

folder <- file.path(tempdir(), "request")
dir.create(folder)
write.csv(coef(summary(linear)), file.path(folder, "june.csv"))
writeLines(c('formula = "age ~ ill"', 'family = "gaussian"'), file.path(folder, "june.toml"))
people$id <- sprintf("p%03d", seq_len(nrow(people)))
verdict <- seepage_check(folder, people)
print(verdict)
stopifnot(verdict$word %in% c("pass", "review", "fail"), length(verdict$verdict$outputs) == 1L)
