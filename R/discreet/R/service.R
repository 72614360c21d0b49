# A protection service: cells in, tables out. The command `discreet ask` talks to it, so figures are
# the same to the last digit. The key is read from a file that only you can read (key_file = "…"), or
# from the environment variable DISCREET_SERVICE_KEY; it is never an argument, which others could see.

#' Protect counts: value and status, in the order of the rows.
dc_service_counts <- function(cells, parameter_set, n = "n", key = "key", weight = NULL,
                              official = NULL, ...) {
  folder <- private_folder()
  out <- file.path(folder, "protected.csv")
  kept <- cells
  if (is.data.frame(cells)) {
    wanted <- c(n, key, weight, official)
    missing <- setdiff(wanted, names(cells))
    if (length(missing)) {
      stop("the data frame has no column ", paste(missing, collapse = ", "), call. = FALSE)
    }
    kept <- cells[wanted]
  }
  run(c("ask", "counts", as_file(kept, folder, "cells"), "--parameter-set", parameter_set,
        "--out", out,
        as_words(list(n = n, key = key, weight = weight, official = official, ...))))
  read_table(out, character())
}

#' Protect a table of cells: counts, key figures with brackets, table parts.
dc_service_table <- function(cells, layout, parameter_set, kind = "counts", name = "table", ...) {
  folder <- private_folder()
  if (is.list(layout)) layout$by <- as.list(layout$by)
  out <- file.path(folder, paste0(name, ".csv"))
  run(c("ask", "table", as_file(cells, folder, "cells"), as_document(layout, folder),
        "--parameter-set", parameter_set, "--kind", kind, "--out", out, as_words(list(...))))
  read_table(out, if (is.list(layout)) unlist(layout$by) else character())
}

#' Carry out a method over a table of cells or over records, by its name: "rounding", "swap", ...; a
#' report is a list of lines of JSON, synthetic records are a list with their report.
dc_service_run <- function(method, cells, request, name = "table", ...,
                           records = is.list(request) && is.null(request$by)) {
  folder <- private_folder()
  if (is.list(request)) {
    for (each in intersect(c("by", "id", "drop", "keep"), names(request))) {
      request[[each]] <- as.list(request[[each]])
    }
    if (!is.null(request$name)) name <- request$name
  }
  out <- file.path(folder, paste0(name, ".csv"))
  run(c("ask", "run", method, as_file(cells, folder, "cells"), as_document(request, folder),
        "--out", out, as_words(list(...))))
  if (identical(readBin(out, "raw", 2), charToRaw("PK"))) {
    files <- utils::unzip(out, exdir = private_folder())
    return(list(
      records = read.csv(files[!grepl("-report\\.", files)], check.names = FALSE, encoding = "UTF-8"),
      report = readLines(files[endsWith(files, "-report.txt")], encoding = "UTF-8")
    ))
  }
  lines <- readLines(out, encoding = "UTF-8")
  if (identical(lines[1], "{")) return(lines)
  if (records) return(read.csv(out, check.names = FALSE, encoding = "UTF-8"))
  read_table(out, if (is.list(request)) unlist(request$by) else character())
}

#' Round a table of counts, given what is asked of it: by, count, rounding, name.
dc_service_round <- function(cells, request, name = "table", ...) {
  dc_service_run("rounding", cells, request, name, ...)
}

#' Change records by steps, given id, steps, drop, keep; a data frame of texts and numbers.
dc_service_anonymise <- function(records, request, ...) {
  dc_service_run("anonymise", records, request, "records", ..., records = TRUE)
}

#' Ask for a table of a data set; of a large one the job is waited for.
dc_service_query <- function(dataset, query, ...) {
  folder <- private_folder()
  if (is.list(query)) query$by <- as.list(query$by)
  out <- file.path(folder, "table.csv")
  run(c("ask", "query", dataset, as_document(query, folder), "--out", out, as_words(list(...))))
  variables <- function(each) if (is.list(each)) each$variable else each
  by <- if (is.list(query)) vapply(query$by, variables, "", USE.NAMES = FALSE) else character()
  read_table(out, by)
}

#' What a query comes to, and whether it would be answered; JSON, as text.
dc_service_check <- function(dataset, query, ...) {
  folder <- private_folder()
  words <- c("ask", "check", dataset, as_document(query, folder), as_words(list(...)))
  paste(run(words), collapse = "\n")
}

#' The data sets there are, or one of them; JSON, as text.
dc_service_datasets <- function(dataset = NULL, ...) {
  paste(run(c("ask", "datasets", dataset, as_words(list(...)))), collapse = "\n")
}

#' How far a job is; with out = "file.csv" its result is written there. JSON, as text.
dc_service_job <- function(number, wait = FALSE, cancel = FALSE, out = NULL, ...) {
  words <- as_words(list(wait = wait, cancel = cancel, out = out, ...))
  paste(run(c("ask", "job", number, words)), collapse = "\n")
}

# A list as a file of JSON; the name of a file stands for itself.
as_document <- function(data, folder) {
  if (is.character(data) && length(data) == 1) {
    if (!file.exists(data)) stop("file ", data, " not found", call. = FALSE)
    return(normalizePath(data))
  }
  if (!is.list(data) || is.null(names(data))) {
    stop("hand in a list with names, or the name of a file", call. = FALSE)
  }
  file <- file.path(folder, "document.json")
  writeLines(enc2utf8(as_json(data)), file, useBytes = TRUE)
  file
}

# JSON: names make objects, what has none makes arrays; a single text, number or truth is itself.
# Arrays of one element are lists: by = list("sex").
as_json <- function(value) {
  joined <- function(parts, open, close) paste0(open, paste(parts, collapse = ","), close)
  if (is.null(value)) return("null")
  if (!is.null(names(value))) {
    if (anyDuplicated(names(value)) || any(!nzchar(names(value)))) {
      stop("names in a list differ, and none is empty", call. = FALSE)
    }
    parts <- vapply(value, as_json, "", USE.NAMES = FALSE)
    return(joined(paste0(json_text(names(value)), ":", parts), "{", "}"))
  }
  if (is.list(value) || length(value) != 1) {
    return(joined(vapply(value, as_json, "", USE.NAMES = FALSE), "[", "]"))
  }
  if (is.na(value)) return("null")
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) {
    if (!is.finite(value)) stop("JSON holds finite numbers", call. = FALSE)
    return(as_text(value + 0))
  }
  json_text(as.character(value))
}

json_text <- function(text) {
  text <- gsub("\\", "\\\\", enc2utf8(text), fixed = TRUE)
  text <- gsub("\"", "\\\"", text, fixed = TRUE)
  controls <- c("\n" = "\\n", "\r" = "\\r", "\t" = "\\t")
  for (each in names(controls)) text <- gsub(each, controls[[each]], text, fixed = TRUE)
  paste0("\"", gsub("[[:cntrl:]]", " ", text), "\"")
}
