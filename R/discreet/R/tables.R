# Tables: true ones, for use inside the house, and protected ones, which may be published.

#' Count records in all cells, totals included. TRUE figures: confidential.
dc_tabulate <- function(data, by, record_key = NULL, ...) {
  folder <- private_folder()
  out <- file.path(folder, "cells.csv")
  run(c("tabulate", as_file(data, folder, "records"), "--by", paste(by, collapse = ","),
        as_words(list(record_key = record_key, ...)), "--confidential", "--out", out))
  read_table(out, by)
}

#' Protect cells that were counted elsewhere, by the cell-key method.
dc_perturb <- function(cells, by, count, cell_key, ptable, ...) {
  folder <- private_folder()
  out <- file.path(folder, "table.csv")
  run(c("perturb", as_file(cells, folder, "cells"), "--by", paste(by, collapse = ","),
        "--count", count, "--cell-key", cell_key, "--ptable", ptable, as_words(list(...)),
        "--out", out))
  read_table(out, by)
}

#' Hide cells of a table of records, until every sensitive one is proven to be protected.
dc_suppress <- function(data, by, rule, value = NULL, ...) {
  folder <- private_folder()
  out <- file.path(folder, "table.csv")
  run(c("suppress", as_file(data, folder, "records"), "--by", paste(by, collapse = ","),
        as_words(list(value = value, rule = rule, ...)), "--out", out))
  read_table(out, by)
}

#' Protect a table of records by the cell-key method.
dc_protect <- function(data, by, ptable, id = NULL, secret = NULL, record_key = NULL, ...) {
  folder <- private_folder()
  out <- file.path(folder, "table.csv")
  run(c("protect", as_file(data, folder, "records"), "--by", paste(by, collapse = ","),
        "--ptable", ptable,
        as_words(list(id = id, secret = secret, record_key = record_key, ...)), "--out", out))
  read_table(out, by)
}
