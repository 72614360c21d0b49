# Safe functions for R scripts that the runner of discreet runs.
#
# In:  what the original function got.
# Out: a token is printed, in place of which the runner puts what it works out itself, with the
#      centre's rules, from its own copy of the data. The value is invisible and empty.
# Nothing here protects anything: a script could change all of it, and would gain nothing but
# requests for safe statistics. Where no runner is, use discreet_safe.R of the folder R.

.fdz <- local({
  asks <- file(paste0("/dev/fd/", Sys.getenv("DISCREET_ASKS")), open = "wb")
  answers <- file(paste0("/dev/fd/", Sys.getenv("DISCREET_ANSWERS")), open = "rb")

  withheld <- function(what) {
    cat("FDZ: no safe form of this:", what, "\n")
    invisible(NULL)
  }

  # --- what is sent: one line of JSON, and the columns ------------------------------------------

  quoted <- function(x) {
    x <- enc2utf8(x)
    x <- gsub("\\", "\\\\", x, fixed = TRUE)
    x <- gsub("\"", "\\\"", x, fixed = TRUE)
    paste0("\"", gsub("[[:cntrl:]]", " ", x), "\"")
  }

  # The values of a column: numbers, or texts; classes may have methods of the script.
  plain <- function(x) {
    if (is.factor(x)) x <- levels(x)[as.integer(x)]
    if (inherits(x, "haven_labelled")) x <- unclass(x)
    if (is.object(x) || !is.null(dim(x))) return(NULL)
    if (is.logical(x) || is.numeric(x)) return(as.numeric(x))
    if (is.character(x)) as.vector(x) else NULL
  }

  values <- function(x) {
    if (is.character(x)) return(ifelse(is.na(x), "null", quoted(x)))
    ifelse(is.finite(x), sprintf("%.17g", x), "null")
  }

  array_of <- function(x) paste0("[", paste(x, collapse = ","), "]")

  # Where rows stand in their file: row names that are numbers stay with their rows.
  places <- function(frame) {
    names <- as.character(attr(frame, "row.names"))
    if (!length(names) || !all(grepl("^[0-9]{1,9}$", names))) return(NULL)
    as.numeric(names) - 1
  }

  ask <- function(command, columns, arguments, options = character(), at = NULL) {
    columns <- lapply(columns, plain)
    if (!length(columns) || any(vapply(columns, is.null, logical(1)))) return(withheld(command))
    if (length(unique(lengths(columns))) != 1) return(withheld(command))
    if (!is.null(at) && length(at) == length(columns[[1]])) columns[["place in the file"]] <- at
    sent <- vapply(columns, function(x) array_of(values(x)), character(1))
    data <- enc2utf8(paste0("{", paste0(quoted(names(columns)), ":", sent, collapse = ","), "}"))
    head <- paste0("{\"command\":", quoted(command), ",\"arguments\":", array_of(arguments),
                   ",\"options\":{", paste(options, collapse = ","), "},\"format\":\"json\"",
                   ",\"line\":0,\"bytes\":", nchar(data, "bytes") + 1, "}")
    writeLines(c(head, data), asks, sep = "\n", useBytes = TRUE)
    flush(asks)
    answer <- readLines(answers, n = 1, warn = FALSE)
    found <- regmatches(answer, regexpr("u0002safe [0-9]+", answer))
    if (!length(found)) return(withheld(command))
    cat("\002", substring(found, 6), "\003\n", sep = "")
    invisible(NULL)
  }

  strings <- function(x) array_of(quoted(x))

  # --- the functions ------------------------------------------------------------------------------

  # A column and its name; the name only says how it is called in the output.
  named <- function(x, expression) {
    name <- gsub("^.*[$]", "", paste(deparse(expression), collapse = ""))
    name <- if (grepl("^[A-Za-z][A-Za-z0-9_]{0,31}$", name)) name else "x"
    columns <- list(x)
    names(columns) <- name
    columns
  }

  fdz_mean <- function(x, trim = 0, ...) {
    if (!identical(as.numeric(trim), 0)) return(withheld("trimmed mean"))
    columns <- named(x, substitute(x))
    ask("tabstat", columns, strings(names(columns)), "\"statistics\":\"mean n\"")
  }

  fdz_sd <- function(x, ...) {
    columns <- named(x, substitute(x))
    ask("tabstat", columns, strings(names(columns)), "\"statistics\":\"sd n\"")
  }

  # The definition of centile is that of R's type 6; the default of R, 7, is another one.
  fdz_quantile <- function(x, probs = c(0.25, 0.5, 0.75), na.rm = FALSE, names = TRUE,
                           type = 7, ...) {
    if (!(as.numeric(type) %in% c(6, 7)) || any(!is.finite(probs) | probs <= 0 | probs >= 1)) {
      return(withheld("these percentiles"))
    }
    columns <- named(x, substitute(x))
    cat("FDZ: percentiles as of type 6\n")
    at <- paste0("\"centiles\":", array_of(sprintf("%.10g", 100 * probs)))
    ask("centile", columns, strings(names(columns)), at)
  }

  fdz_cor <- function(x, y = NULL, use = "everything", method = "pearson") {
    if (!identical(method, "pearson")) return(withheld("correlations of ranks"))
    at <- places(x)
    if (!is.null(y)) {
      columns <- list(x = x, y = y)
      at <- NULL
    } else if (is.data.frame(x)) {
      columns <- .columns(x)
    } else {
      return(withheld("correlations of this"))
    }
    by <- if (grepl("^p", use[1])) "pwcorr" else "correlate"
    ask(by, columns, strings(names(columns)), at = at)
  }

  fdz_table <- function(..., useNA = "no") {
    given <- list(...)
    at <- NULL
    if (length(given) == 1 && is.data.frame(given[[1]])) {
      at <- places(given[[1]])
      given <- .columns(given[[1]])
    }
    if (!length(given) %in% 1:2) return(withheld("table of more than two variables"))
    words <- as.list(substitute(list(...)))[-1]
    if (is.null(names(given))) {
      names(given) <- vapply(words, function(w) names(named(0, w)), character(1))
      if (anyDuplicated(names(given))) names(given) <- paste0("x", seq_along(given))
    }
    known <- if (identical(useNA, "no")) character() else "\"missing\":true"
    ask("tabulate", given, quoted(names(given)), known, at)
  }

  .columns <- function(frame) {
    names <- attr(frame, "names")
    found <- lapply(seq_along(names), function(i) .subset2(frame, i))
    names(found) <- names
    found
  }

  # Outcome and columns of the matrix of a model, which the runner fits anew.
  .model <- function(model) {
    known <- identical(class(model), "lm") || identical(class(model), c("glm", "lm"))
    if (!known) return(withheld("this kind of model"))
    command <- "regress"
    if (inherits(model, "glm")) {
      link <- as.character(model$family$link)
      if (!identical(as.character(model$family$family), "binomial") ||
          !link %in% c("logit", "probit")) return(withheld("this kind of model"))
      command <- link
    }
    model <- unclass(model)
    frame <- model$model
    if (!is.data.frame(frame) || !is.null(model.offset(frame))) {
      return(withheld("this kind of model"))
    }
    y <- model.response(frame)
    if (is.factor(y) || is.character(y)) y <- as.integer(factor(y)) > 1
    x <- model.matrix(model$terms, frame, contrasts.arg = model$contrasts)
    constant <- "(Intercept)" %in% colnames(x)
    x <- x[, colnames(x) != "(Intercept)", drop = FALSE]
    names <- substr(gsub("_+$", "", gsub("[^A-Za-z0-9]+", "_", colnames(x))), 1, 28)
    names <- make.unique(ifelse(grepl("^[A-Za-z]", names), names, paste0("x_", names)), sep = "_")
    columns <- lapply(seq_len(ncol(x)), function(i) as.vector(x[, i]))
    names(columns) <- names
    options <- if (constant) "\"constant\":true" else "\"constant\":false"
    if (!is.null(model.weights(frame))) {
      if (command != "regress") return(withheld("a model with weights"))
      columns[["the_weight"]] <- as.vector(model.weights(frame))
      options <- c(options, "\"weights\":\"the_weight\"")
    }
    columns <- c(list(y = as.vector(y)), columns)
    ask(command, columns, c("\"y\"", strings(names)), options, places(frame))
  }

  fdz_summary <- function(object, ...) {
    if (inherits(object, "lm")) {
      return(tryCatch(.model(object), error = function(e) withheld("this model")))
    }
    if (is.data.frame(object)) {
      columns <- Filter(function(x) is.numeric(plain(x)), .columns(object))
      return(ask("summarize", columns, strings(names(columns)), at = places(object)))
    }
    if (is.factor(object) || is.character(object)) return(withheld("summary of texts"))
    columns <- named(object, substitute(object))
    ask("summarize", columns, strings(names(columns)))
  }

  list(fdz_mean = fdz_mean, fdz_sd = fdz_sd, fdz_quantile = fdz_quantile, fdz_cor = fdz_cor,
       fdz_table = fdz_table, fdz_summary = fdz_summary)
}, envir = new.env(parent = asNamespace("stats")))

for (.name in names(.fdz)) {
  assign(.name, .fdz[[.name]])
  lockBinding(.name, environment())
}
rm(.name, .fdz)
