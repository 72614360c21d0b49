# The command line: where it is, how it is called, and what becomes of its errors.

#' The program that does the work: option `discreet.command`, the environment variable
#' DISCREET_COMMAND, or `discreet` on the path.
dc_command <- function() {
  found <- getOption("discreet.command", Sys.getenv("DISCREET_COMMAND"))
  if (!nzchar(found)) found <- Sys.which("discreet")[[1]]
  if (!nzchar(found)) {
    stop("the command discreet is not there: pip install discreet, or ",
         "options(discreet.command = \"/path/to/discreet\")", call. = FALSE)
  }
  found
}

# Run it; what it warns of becomes warnings, what it refuses an error of class discreet_error.
run <- function(words) {
  errors <- tempfile("discreet-")
  output <- tempfile("discreet-")
  on.exit(unlink(c(errors, output)))
  # Colours and widths of terminals are not for texts that are read on.
  settings <- c("NO_COLOR=1", "TERM=dumb", "COLUMNS=200", "PYTHONIOENCODING=utf-8",
                libraries_of_others())
  status <- suppressWarnings(
    system2(dc_command(), shQuote(words), stdout = output, stderr = errors, env = settings)
  )
  said <- readLines(errors, warn = FALSE, encoding = "UTF-8")
  mark <- "^discreet: warning: "
  for (line in grep(mark, said, value = TRUE)) warning(sub(mark, "", line), call. = FALSE)
  if (status != 0) {
    text <- paste(without_frames(said[!grepl(mark, said)]), collapse = "\n")
    if (!nzchar(text)) text <- paste0("the command ended with exit code ", status)
    stop(structure(class = c("discreet_error", "error", "condition"),
                   list(message = text, call = NULL, status = status)))
  }
  invisible(readLines(output, warn = FALSE, encoding = "UTF-8"))
}

# R puts libraries of its own before all others, which other programs, such as a Python that was
# built with another OpenSSL, cannot use: the search path as it was before R was started.
libraries_of_others <- function() {
  now <- Sys.getenv("LD_LIBRARY_PATH")
  file <- file.path(R.home("etc"), "ldpaths")
  if (!nzchar(now) || !file.exists(file)) return(character())
  script <- paste0(". ", shQuote(file), "; printf %s \"$LD_LIBRARY_PATH\"")
  added <- system2("sh", c("-c", shQuote(script)), stdout = TRUE, env = "LD_LIBRARY_PATH=")
  if (identical(now, added)) return("LD_LIBRARY_PATH=")
  if (!startsWith(now, paste0(added, ":"))) return(character())
  paste0("LD_LIBRARY_PATH=", shQuote(substring(now, nchar(added) + 2)))
}

# Lines of a message without the frame that is drawn around it on terminals.
without_frames <- function(lines) {
  inner <- gsub("^\u2502 *| *\u2502$", "", lines)
  inner[nzchar(trimws(inner)) & !grepl("^[\u256d\u2570\u250c\u2514]", inner)]
}

# A folder that only its owner can read, and that is gone when the caller is done.
private_folder <- function(caller = parent.frame()) {
  folder <- tempfile("discreet-")
  old <- Sys.umask("077")
  on.exit(Sys.umask(old))
  dir.create(folder)
  done <- bquote(unlink(.(folder), recursive = TRUE))
  do.call(on.exit, list(done, add = TRUE), envir = caller)
  folder
}

# A data frame as a file; the name of a file stands for itself.
as_file <- function(data, folder, name) {
  if (is.character(data) && length(data) == 1) {
    if (!file.exists(data)) stop("file ", data, " not found", call. = FALSE)
    return(normalizePath(data))
  }
  if (!is.data.frame(data)) stop("hand in a data frame, or the name of a file", call. = FALSE)
  if (!ncol(data) || anyDuplicated(names(data))) {
    stop("the data frame needs columns with different names", call. = FALSE)
  }
  odd <- names(data)[!vapply(data, is_plain, logical(1))]
  if (length(odd)) {
    stop("columns hold numbers, texts, factors, dates or TRUE and FALSE; not so: ",
         paste(odd, collapse = ", "), call. = FALSE)
  }
  if (requireNamespace("arrow", quietly = TRUE)) {
    file <- file.path(folder, paste0(name, ".parquet"))
    arrow::write_parquet(as.data.frame(lapply(data, unfactored), check.names = FALSE), file)
    return(file)
  }
  file <- file.path(folder, paste0(name, ".csv"))
  texts <- as.data.frame(lapply(data, as_text), check.names = FALSE)
  names(texts) <- names(data)
  quoted <- which(vapply(data, function(each) is.character(each) || is.factor(each), NA))
  write.table(texts, file, sep = ",", dec = ".", quote = quoted, qmethod = "double", na = "",
              row.names = FALSE, fileEncoding = "UTF-8")
  file
}

is_plain <- function(column) {
  is.numeric(column) || is.character(column) || is.factor(column) || is.logical(column) ||
    inherits(column, c("Date", "integer64"))
}

unfactored <- function(column) if (is.factor(column)) as.character(column) else column

# All digits that a number has; what is a text stays one.
as_text <- function(column) {
  if (is.factor(column) || inherits(column, c("Date", "integer64"))) return(as.character(column))
  if (is.double(column)) {
    text <- sprintf("%.15g", column)
    longer <- !is.na(column) & as.numeric(text) != column
    text[longer] <- sprintf("%.17g", column[longer])
    text[is.na(column)] <- NA
    return(text)
  }
  if (is.logical(column)) return(ifelse(column, "true", "false"))
  column
}

# A table that the command wrote: codes stay texts, figures become numbers.
read_table <- function(file, by) {
  found <- read.csv(file, colClasses = "character", check.names = FALSE, na.strings = "",
                    encoding = "UTF-8")
  texts <- c(by, paste0(by, "_label"), "status", "symbol", "reason", "note", "figure",
             "figure_label")
  for (name in setdiff(names(found), texts)) found[[name]] <- as.numeric(found[[name]])
  found
}

# Options of the command from named arguments: round_to = 10 is --round-to 10.
as_words <- function(options) {
  words <- character()
  for (name in names(options)) {
    value <- options[[name]]
    if (!nzchar(name)) stop("give further options by name", call. = FALSE)
    if (is.null(value) || identical(value, FALSE)) next
    word <- paste0("--", gsub("_", "-", name))
    if (isTRUE(value)) {
      words <- c(words, word)
    } else if (!is.null(names(value))) {
      # A named list or vector: intervals = list(age = c(0, 18)) is --intervals age=0,18.
      for (each in names(value)) {
        text <- paste0(each, "=", paste(plain(value[[each]]), collapse = ","))
        words <- c(words, word, text)
      }
    } else {
      for (each in plain(value)) words <- c(words, word, each)
    }
  }
  words
}

plain <- function(value) if (is.numeric(value)) sprintf("%.15g", value) else as.character(value)
