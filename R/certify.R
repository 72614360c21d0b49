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

# Percentiles: one per cent from 300 cases.
stopifnot(grepl("1% *\\.", said(fdz_quantile(d$x[1:299], 0.01))))
stopifnot(!grepl("1% *\\. *$", said(fdz_quantile(d$x[1:300], 0.01))))
stopifnot(grepl("0% *\\.", said(fdz_quantile(d$x, 0))))

# Cells of one and two cases.
few <- c(rep("a", 10), rep("b", 2), "c")
stopifnot(withheld(said(fdz_table(few))), !grepl("2", said(fdz_table(few))))
stopifnot(!withheld(said(fdz_table(d$g))))

# Models: as summary shows them, unless a dummy has one case or nothing is left over.
fit <- lm(y ~ x, d)
shown <- said(fdz_summary(fit))
stopifnot(grepl(format(coef(fit)[["x"]], digits = 5), shown, fixed = TRUE))
d$one <- as.numeric(seq_len(400) == 17)
stopifnot(withheld(said(fdz_summary(lm(y ~ x + one, d)))))
stopifnot(withheld(said(fdz_summary(lm(y ~ x, d[1:8, ])))))
stopifnot(!withheld(said(fdz_summary(glm(y > 0 ~ x, binomial, d)))))
stopifnot(withheld(said(fdz_summary(t.test(d$x)))), withheld(said(fdz_summary(summary(fit)))))

stopifnot(withheld(said(fdz_cor(d$x, d$x))), !withheld(said(fdz_cor(d$x, d$y))))

# The functions cannot be replaced.
stopifnot(inherits(try(fdz_mean <- print, silent = TRUE), "try-error"))
cat("all rules hold\n")
