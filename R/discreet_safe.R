# Safe functions for R scripts that `discreet fire pre` has rewritten.
#
# In:  what the original function got.
# Out: the safe part is printed, the value is invisible and empty.
# The rules are those of the Stata commands: a minimum of cases, percentiles only where enough
# cases lie beyond them, models with enough residual degrees of freedom and no case that
# determines its own fitted value. Limits come from a file of the server, DISCREET_R_LIMITS, a
# script that returns a list; without it the defaults below count.
# certify.R beside this file tests it; run it on your server before use.

.fdz <- local({
  limits <- list(minimum = 3, residual = 10, pair = 10, leverage = 0.999)
  file <- Sys.getenv("DISCREET_R_LIMITS")
  if (nzchar(file)) {
    own <- source(file, local = TRUE)$value
    stopifnot(is.list(own), names(own) %in% names(limits),
              vapply(own, is.numeric, logical(1)))
    limits[names(own)] <- own
  }
  limits
})
lockBinding(".fdz", environment())

.fdz_withheld <- function(what) {
  cat("FDZ:", what, "withheld for confidentiality\n")
  invisible(NULL)
}

.fdz_number <- function(x) if (is.na(x)) "." else format(x, digits = 7)

# Values of a column, with factors and dates as they are; NULL if it is not a numeric column.
.fdz_values <- function(x) {
  if (!(is.numeric(x) || is.logical(x)) || is.factor(x) || !is.null(dim(x))) return(NULL)
  x <- as.numeric(x)
  x[is.finite(x)]
}

# One value that all cases share would be shown by its mean.
.fdz_enough <- function(x, minimum) length(x) >= minimum && length(unique(x)) > 1

fdz_mean <- function(x, ...) {
  v <- .fdz_values(x)
  if (is.null(v) || !.fdz_enough(v, .fdz$minimum)) return(.fdz_withheld("mean"))
  cat("mean", .fdz_number(mean(v)), " N", length(v), "\n")
  invisible(NULL)
}

fdz_sd <- function(x, ...) {
  v <- .fdz_values(x)
  if (is.null(v) || !.fdz_enough(v, .fdz$pair)) {
    return(.fdz_withheld("standard deviation"))
  }
  cat("sd", .fdz_number(sd(v)), " N", length(v), "\n")
  invisible(NULL)
}

fdz_quantile <- function(x, probs = c(0.25, 0.5, 0.75), ...) {
  v <- .fdz_values(x)
  if (is.null(v) || !.fdz_enough(v, .fdz$minimum)) return(.fdz_withheld("percentiles"))
  for (q in probs) {
    # The rule of the Stata side: at least as many cases beyond it as the minimum.
    ok <- q > 0 && q < 1 && length(v) * min(q, 1 - q) >= .fdz$minimum
    cat(format(paste0(100 * q, "%"), width = 6), if (ok) .fdz_number(quantile(v, q)) else ".", "\n")
  }
  invisible(NULL)
}

fdz_cor <- function(x, y = NULL, ...) {
  frame <- if (is.null(y)) as.data.frame(x) else data.frame(x = x, y = y)
  if (!all(vapply(frame, is.numeric, logical(1)))) return(.fdz_withheld("correlations"))
  frame <- frame[complete.cases(frame), , drop = FALSE]
  if (nrow(frame) < .fdz$pair || ncol(frame) < 2) return(.fdz_withheld("correlations"))
  value <- suppressWarnings(cor(frame))
  # A correlation of one tells each value from the other.
  off <- value[upper.tri(value)]
  if (anyNA(off) || any(abs(off) > 0.99999)) return(.fdz_withheld("correlations"))
  print(round(value, 4))
  invisible(NULL)
}

fdz_table <- function(...) {
  counts <- table(...)
  if (length(dim(counts)) > 2) return(.fdz_withheld("table of more than two variables"))
  shown <- array(format(counts), dim(counts), dimnames(counts))
  small <- counts > 0 & counts < .fdz$minimum
  # Margins are not shown. Zeros stay, unless a whole row or column is one cell.
  if (length(dim(counts)) == 2 && any(counts > 0)) {
    small <- small | ((rowSums(counts > 0) == 1) & counts > 0)
    small <- small | t((colSums(counts > 0) == 1) & t(counts > 0))
  }
  shown[small] <- "."
  print(noquote(shown))
  if (any(small)) .fdz_withheld("cells")
  invisible(NULL)
}

# Models of lm and glm only: anything else has no safe form here.
.fdz_model <- function(model) {
  if (!identical(class(model), "lm") && !identical(class(model)[1], "glm")) {
    return(.fdz_withheld("this kind of object"))
  }
  x <- model.matrix(model)
  twice <- apply(x, 2, function(v) length(unique(v)) == 2)
  few <- apply(x[, twice, drop = FALSE], 2, function(v) min(table(v)) < .fdz$minimum)
  hat <- hatvalues(model)
  bad <- df.residual(model) < .fdz$residual || any(few) || anyNA(coef(model)) ||
    any(hat > .fdz$leverage) || sum(hat > 0.499) > 0
  if (isTRUE(bad) || is.na(bad)) return(.fdz_withheld("model"))
  table <- summary(model)$coefficients
  print(table, digits = 5)
  cat("N", nobs(model), " residual df", df.residual(model), "\n")
  invisible(NULL)
}

fdz_summary <- function(object, ...) {
  if (inherits(object, c("summary.lm", "summary.glm"))) return(.fdz_withheld("this summary"))
  if (inherits(object, "lm")) return(.fdz_model(object))
  if (!is.data.frame(object) && !is.atomic(object)) return(.fdz_withheld("this kind of object"))
  frame <- if (is.data.frame(object)) object else data.frame(x = object)
  cat(format("variable", width = 16), "N mean sd\n")
  for (name in names(frame)) {
    v <- .fdz_values(frame[[name]])
    if (is.null(v)) next
    n <- if (length(v) >= .fdz$minimum) length(v) else NA
    m <- if (.fdz_enough(v, .fdz$minimum)) mean(v) else NA
    s <- if (.fdz_enough(v, .fdz$pair)) sd(v) else NA
    # A mean of a few with its deviation can be inverted; of less than `pair` neither is shown.
    if (is.na(s)) m <- NA
    cat(format(name, width = 16), .fdz_number(n), .fdz_number(m), .fdz_number(s), "\n")
  }
  invisible(NULL)
}

# A script must not give these names another meaning.
for (.name in c("fdz_mean", "fdz_sd", "fdz_quantile", "fdz_cor", "fdz_table", "fdz_summary")) {
  lockBinding(.name, environment())
}
rm(.name)
