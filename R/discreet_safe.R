# Safe functions for R scripts that `discreet fire pre` has rewritten.
#
# In:  what the original function got.
# Out: the safe part is printed, the value is invisible and empty.
# The rules are those of the Stata commands: a minimum of cases, no mean that one or two cases
# make up, percentiles only where enough cases lie beyond them, models with enough residual
# degrees of freedom and no case that determines its own fitted value. Limits come from a file of
# the server, DISCREET_R_LIMITS, a script that returns a list; without it the defaults below count.
# certify.R beside this file tests it; run it on your server before use.

# All of it lives in an environment of its own, which sees R's own functions before those of a
# script: a script that gives `length` a meaning of its own does not change a rule here.
.fdz <- local({
  limits <- list(minimum = 3, residual = 10, pair = 10, leverage = 0.999, dominance = 0.1)
  file <- Sys.getenv("DISCREET_R_LIMITS")
  if (nzchar(file)) {
    own <- source(file, local = TRUE)$value
    stopifnot(is.list(own), names(own) %in% names(limits),
              vapply(own, is.numeric, logical(1)))
    limits[names(own)] <- own
  }

  withheld <- function(what) {
    cat("FDZ:", what, "withheld for confidentiality\n")
    invisible(NULL)
  }

  number <- function(x) if (is.na(x)) "." else format(x, digits = 7)

  # The numbers of a column; NULL if it is not a plain numeric column. Classes may have methods of
  # the script, so none but the labels of haven is taken.
  values <- function(x) {
    if (identical(class(x)[1], "haven_labelled")) x <- unclass(x)
    if (is.object(x) || !(is.numeric(x) || is.logical(x)) || !is.null(dim(x))) return(NULL)
    x <- as.numeric(x)
    x[is.finite(x)]
  }

  # One value that all cases share would be shown by its mean, and so would one or two that
  # make up nearly all of it.
  enough <- function(x, minimum) {
    if (length(x) < minimum || length(unique(x)) < 2) return(FALSE)
    parts <- sort(abs(x), decreasing = TRUE)
    sum(parts) - parts[1] - parts[2] >= limits$dominance * parts[1]
  }

  # Options that change what is counted have no safe form.
  fdz_mean <- function(x, trim = 0, ...) {
    if (!identical(as.numeric(trim), 0)) return(withheld("trimmed mean"))
    v <- values(x)
    if (is.null(v) || !enough(v, limits$minimum)) return(withheld("mean"))
    cat("mean", number(mean(v)), " N", length(v), "\n")
    invisible(NULL)
  }

  fdz_sd <- function(x, ...) {
    v <- values(x)
    if (is.null(v) || !enough(v, limits$pair)) return(withheld("standard deviation"))
    cat("sd", number(sd(v)), " N", length(v), "\n")
    invisible(NULL)
  }

  fdz_quantile <- function(x, probs = c(0.25, 0.5, 0.75), na.rm = FALSE, names = TRUE,
                           type = 7, ...) {
    if (!identical(as.numeric(type), 7)) return(withheld("percentiles of this type"))
    v <- values(x)
    if (is.null(v) || length(v) < limits$minimum || length(unique(v)) < 2) {
      return(withheld("percentiles"))
    }
    for (q in as.numeric(probs)) {
      # The rule of the Stata side: at least as many cases beyond it as the minimum.
      ok <- !is.na(q) && q > 0 && q < 1 && length(v) * min(q, 1 - q) >= limits$minimum
      shown <- if (ok) number(quantile(v, q)) else "."
      cat(format(paste0(100 * q, "%"), width = 6), shown, "\n")
    }
    invisible(NULL)
  }

  # The columns of a frame, without methods that its class may have.
  columns <- function(frame) {
    names <- attr(frame, "names")
    if (!is.list(frame) || is.null(names)) return(NULL)
    found <- lapply(seq_along(names), function(i) .subset2(frame, i))
    attr(found, "names") <- names
    found
  }

  fdz_cor <- function(x, y = NULL, use = "complete.obs", method = "pearson") {
    if (!identical(method, "pearson")) return(withheld("correlations of ranks"))
    if (grepl("^p", use[1])) return(withheld("correlations of pairs"))
    if (!is.null(y)) parts <- list(x = x, y = y)
    else if (is.matrix(x)) parts <- columns(as.data.frame(unclass(x)))
    else parts <- columns(x)
    plain <- function(v) !is.object(v) && is.numeric(v) && is.null(dim(v))
    if (is.null(parts) || !all(vapply(parts, plain, logical(1))) ||
        length(unique(lengths(parts))) != 1) return(withheld("correlations"))
    frame <- as.data.frame(parts)
    frame <- frame[complete.cases(frame), , drop = FALSE]
    if (nrow(frame) < limits$pair || ncol(frame) < 2) return(withheld("correlations"))
    # One or two cases that lie apart from all others would be told by it, as those of a dummy.
    spread <- function(v) enough(v - median(v), limits$pair)
    if (!all(vapply(frame, spread, logical(1)))) return(withheld("correlations"))
    value <- suppressWarnings(cor(frame))
    # A correlation of one tells each value from the other.
    off <- value[upper.tri(value)]
    if (anyNA(off) || any(abs(off) > 0.99999)) return(withheld("correlations"))
    print.default(round(value, 4))
    invisible(NULL)
  }

  # A label that few cases have is a value of these cases, so it goes with its cells.
  fdz_table <- function(...) {
    counts <- table(...)
    if (length(dim(counts)) > 2) return(withheld("table of more than two variables"))
    labels <- dimnames(counts)
    counts <- array(as.integer(unclass(counts)), dim(counts), labels)
    gone <- FALSE
    if (length(dim(counts)) == 1) {
      gone <- any(counts > 0 & counts < limits$minimum)
      counts <- counts[counts >= limits$minimum]
    } else {
      rows <- rowSums(counts) >= limits$minimum
      cols <- colSums(counts) >= limits$minimum
      gone <- any(counts[!rows, ] > 0) || any(counts[, !cols] > 0)
      counts <- counts[rows, cols, drop = FALSE]
    }
    if (!length(counts)) return(withheld("table"))
    shown <- counts
    shown[] <- format(counts)
    small <- counts > 0 & counts < limits$minimum
    # Margins are not shown. Zeros stay, unless a whole row or column is one cell.
    if (length(dim(counts)) == 2) {
      small <- small | ((rowSums(counts > 0) == 1) & counts > 0)
      small <- small | t((colSums(counts > 0) == 1) & t(counts > 0))
    }
    shown[small] <- "."
    print.default(shown, quote = FALSE)
    if (gone || any(small)) withheld("cells")
    invisible(NULL)
  }

  # The family of a model, made anew, since that of the model may hold functions of a script.
  family_of <- function(model) {
    link <- model$family$link
    known <- c("identity", "log", "logit", "probit", "cloglog", "inverse", "sqrt")
    if (!is.character(link) || !(link %in% known)) return(NULL)
    switch(as.character(model$family$family), binomial = binomial(link), poisson = poisson(link),
           gaussian = gaussian(link), Gamma = Gamma(link), NULL)
  }

  # Coefficients with standard errors of a fit to matrices; NULL where it is not of full rank.
  coefficients_of <- function(x, y, w, family) {
    plain <- is.null(family)
    fit <- if (plain) lm.wfit(x, y, w) else glm.fit(x, y, w, family = family)
    n <- sum(w != 0)
    df <- n - fit$rank
    if (fit$rank < ncol(x) || df < limits$residual || (!plain && !fit$converged)) return(NULL)
    # As in summary.lm and summary.glm.
    inner <- if (plain) sum(w * fit$residuals^2) else sum(fit$weights * fit$residuals^2)
    fixed <- !plain && family$family %in% c("binomial", "poisson")
    scale <- if (fixed) 1 else inner / df
    qr <- fit$qr
    hat <- rowSums(qr.Q(if (plain) qr else structure(qr, class = "qr"))[, seq_len(fit$rank), drop = FALSE]^2)
    if (any(hat > min(limits$leverage, 0.499))) return(NULL)
    error <- sqrt(scale * diag(chol2inv(qr.R(qr)[seq_len(fit$rank), seq_len(fit$rank), drop = FALSE])))
    value <- fit$coefficients
    ratio <- value / error
    p <- if (fixed) 2 * pnorm(-abs(ratio)) else 2 * pt(-abs(ratio), df)
    list(n = n, df = df, table = cbind(Estimate = value, "Std. Error" = error,
                                       Ratio = ratio, p = p))
  }

  # Models of lm and glm only: anything else has no safe form here. They are fitted anew to their
  # own matrices: what a script has put into the object is not shown.
  model_table <- function(model) {
    is_lm <- identical(class(model), "lm")
    if (!is_lm && !identical(class(model), c("glm", "lm"))) return(NULL)
    model <- unclass(model)
    frame <- model$model
    family <- if (is_lm) NULL else family_of(model)
    if (!is.data.frame(frame) || !is.null(model.offset(frame)) || (!is_lm && is.null(family))) {
      return(NULL)
    }
    y <- model.response(frame)
    if (is.factor(y) || is.character(y)) y <- as.integer(factor(y)) > 1
    y <- values(y)
    x <- model.matrix(model$terms, frame, contrasts.arg = model$contrasts)
    w <- model.weights(frame)
    w <- if (is.null(w)) rep(1, nrow(x)) else as.numeric(w)
    if (is.null(y) || length(y) != nrow(x) || !enough(y, limits$pair) || ncol(x) < 1) return(NULL)
    twice <- apply(x, 2, function(v) length(unique(v)) == 2)
    few <- apply(x[, twice, drop = FALSE], 2, function(v) min(table(v)) < limits$minimum)
    if (any(few)) return(NULL)
    coefficients_of(x, y, w, family)
  }

  fdz_summary <- function(object, ...) {
    if (inherits(object, "lm")) {
      found <- tryCatch(suppressWarnings(model_table(object)), error = function(e) NULL)
      if (is.null(found)) return(withheld("model"))
      print.default(found$table, digits = 5)
      cat("N", found$n, " residual df", found$df, "\n")
      return(invisible(NULL))
    }
    frame <- if (inherits(object, "data.frame")) columns(object) else list(x = object)
    plain <- inherits(object, c("data.frame", "haven_labelled")) || !is.object(object)
    if (!plain || is.null(frame) || is.list(frame[[1]])) return(withheld("this kind of object"))
    cat(format("variable", width = 16), "N mean sd\n")
    for (name in attr(frame, "names")) {
      v <- values(frame[[name]])
      if (is.null(v)) next
      n <- if (length(v) >= limits$minimum) length(v) else NA
      m <- if (enough(v, limits$minimum)) mean(v) else NA
      s <- if (enough(v, limits$pair)) sd(v) else NA
      # A mean of a few with its deviation can be inverted; of less than `pair` neither is shown.
      if (is.na(s)) m <- NA
      cat(format(name, width = 16), number(n), number(m), number(s), "\n")
    }
    invisible(NULL)
  }

  list(fdz_mean = fdz_mean, fdz_sd = fdz_sd, fdz_quantile = fdz_quantile, fdz_cor = fdz_cor,
       fdz_table = fdz_table, fdz_summary = fdz_summary)
}, envir = new.env(parent = asNamespace("stats")))

# A script must not give these names another meaning.
for (.name in names(.fdz)) {
  assign(.name, .fdz[[.name]])
  lockBinding(.name, environment())
}
lockEnvironment(environment(.fdz$fdz_mean), bindings = TRUE)
rm(.name, .fdz)
