# What a centre runs before it uses discreet_safe.R: Rscript certify.R
# Each line stops the script if a rule does not hold.

source("discreet_safe.R")
said <- function(expression) paste(capture.output(expression), collapse = "\n")
withheld <- function(text) grepl("withheld", text, fixed = TRUE)

set.seed(7)
d <- data.frame(x = rnorm(400), g = rep(c("a", "b"), 200))
d$y <- 2 * d$x + rnorm(400)

stopifnot(!grepl("Min|Max", said(fdz_summary(d))))
stopifnot(grepl(format(mean(d$x), digits = 7), said(fdz_summary(d)), fixed = TRUE))
stopifnot(withheld(said(fdz_mean(d$x[1:2]))), withheld(said(fdz_mean(rep(5, 100)))))
stopifnot(withheld(said(fdz_sd(d$x[1:9]))), !withheld(said(fdz_sd(d$x[1:10]))))

# One or two cases that make up a mean.
stopifnot(withheld(said(fdz_mean(c(9000, rep(0, 399))))))
stopifnot(withheld(said(fdz_mean(c(9000, 8000, rep(0.5, 398))))))
stopifnot(withheld(said(fdz_mean(d$y * (d$y == max(d$y))))))

# Correlations that one or two cases make, and options that change what is counted.
d$one <- as.numeric(seq_len(400) == 17)
stopifnot(withheld(said(fdz_cor(d$x, d$one))), withheld(said(fdz_cor(d$x, 1 - d$one))))
stopifnot(withheld(said(fdz_cor(data.frame(x = d$x, y = c(1e6, d$y[-1]))))))
stopifnot(grepl(round(cor(d$x, d$y), 4), said(fdz_cor(d$x, d$y)), fixed = TRUE))
stopifnot(!withheld(said(fdz_cor(d$x, as.numeric(d$g == "a"), use = "complete.obs"))))
stopifnot(withheld(said(fdz_cor(d$x, d$y, method = "spearman"))))
stopifnot(withheld(said(fdz_cor(d[c("x", "y")], use = "pairwise.complete.obs"))))
stopifnot(withheld(said(fdz_mean(d$x, trim = 0.1))), withheld(said(fdz_mean(d$x, 0.1))))
stopifnot(!withheld(said(fdz_mean(d$x, na.rm = TRUE))))
stopifnot(withheld(said(fdz_quantile(d$x, 0.5, type = 6))))

# Percentiles: one per cent from 300 cases.
stopifnot(grepl("1% *\\.", said(fdz_quantile(d$x[1:299], 0.01))))
stopifnot(!grepl("1% *\\. *$", said(fdz_quantile(d$x[1:300], 0.01))))
stopifnot(grepl("0% *\\.", said(fdz_quantile(d$x, 0))))

# Cells of one and two cases, and labels that only they have.
few <- c(rep("a", 10), rep("b", 2), "c")
stopifnot(withheld(said(fdz_table(few))), !grepl("2|b|c\n", said(fdz_table(few))))
stopifnot(!withheld(said(fdz_table(d$g))))
stopifnot(!grepl(format(d$x[17]), said(fdz_table(d$x)), fixed = TRUE))
stopifnot(!grepl("rare", said(fdz_table(d$g, c("rare", rep(c("u", "v", "w"), 133))))))
stopifnot(grepl("67", said(fdz_table(d$g, c("u", rep(c("u", "v", "w"), 133))))))

# Models: as summary shows them, unless a dummy has one case or nothing is left over.
numbers <- function(text) {
  found <- regmatches(text, gregexpr("-?[0-9]+\\.?[0-9]*(e[-+]?[0-9]+)?", text))[[1]]
  as.numeric(found)
}
same <- function(fit) {
  shown <- numbers(said(fdz_summary(fit)))
  wanted <- summary(fit)$coefficients[, 1:2]
  all(vapply(wanted, function(v) any(abs(shown - v) < 1e-3 * abs(v) + 1e-9), logical(1)))
}
d$w <- runif(400, 1, 2)
d$n <- rpois(400, exp(0.3 * d$x))
stopifnot(same(lm(y ~ x, d)), same(lm(y ~ x + g, d)), same(lm(y ~ poly(x, 2), d, weights = w)))
stopifnot(same(glm(y > 0 ~ x, binomial, d)), same(glm(n ~ x + g, poisson, d)))
stopifnot(same(glm(factor(y > 0) ~ x, binomial("probit"), d)))
d$one <- as.numeric(seq_len(400) == 17)
stopifnot(withheld(said(fdz_summary(lm(y ~ x + one, d)))))
stopifnot(withheld(said(fdz_summary(lm(y ~ x, d[1:8, ])))))
stopifnot(withheld(said(fdz_summary(lm(y ~ x + I(2 * x), d)))))
fit <- lm(y ~ x, d)
stopifnot(withheld(said(fdz_summary(t.test(d$x)))), withheld(said(fdz_summary(summary(fit)))))

far <- transform(d, z = c(1e6, d$x[-1]))
stopifnot(withheld(said(fdz_summary(lm(y ~ z, far)))))

# What a script has put into a fitted model is not shown.
fit$coefficients[["x"]] <- 123456
stopifnot(!grepl("123456", said(fdz_summary(fit))), !withheld(said(fdz_summary(fit))))

stopifnot(withheld(said(fdz_cor(d$x, d$x))), !withheld(said(fdz_cor(d$x, d$y))))

# The functions cannot be replaced, and names and classes of a script do not reach into them.
stopifnot(inherits(try(fdz_mean <- print, silent = TRUE), "try-error"))
length <- function(x) 1000
unique <- function(x) 1:1000
length.mine <- unique.mine <- as.double.mine <- function(x, ...) 1:1000
odd <- structure(5, class = "mine")
stopifnot(withheld(said(fdz_mean(5))), withheld(said(fdz_mean(odd))))
frame <- structure(list(x = 5), class = c("mine", "data.frame"))
`[[.mine` <- function(x, i) 1:1000
stopifnot(!grepl("500", said(fdz_summary(frame))))
stopifnot(is.null(get0(".fdz")), environmentIsLocked(environment(fdz_mean)))
cat("all rules hold\n")
