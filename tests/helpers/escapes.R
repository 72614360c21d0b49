# Tries to leave its confinement, one way after the other; says "NAME: kept" or "NAME: done".
facts <- readLines("facts.txt")
outside <- facts[1]
writeLines("own", "own.txt")
invisible(readLines("d.csv"))
tries <- list(
  "Sys.chmod of the data" = function() all(Sys.chmod("d.csv", "666")),
  "Sys.chmod of another folder" = function() all(Sys.chmod(file.path(outside, "other"), "755")),
  "Sys.setFileTime" = function() Sys.setFileTime("d.csv", Sys.time()),
  "chmod by a shell" = function() system("chmod 666 d.csv 2>/dev/null") == 0,
  "touch by a shell" = function() system("touch d.csv 2>/dev/null") == 0,
  "write to the data" = function() is.null(writeLines("x", "d.csv")),
  "copy over the data" = function() file.copy("own.txt", "d.csv", overwrite = TRUE),
  "append to the data" = function() file.append("d.csv", "own.txt"),
  "remove the data" = function() file.remove("d.csv"),
  "rename over the data" = function() file.rename("own.txt", "d.csv"),
  "write through a symbolic link" = function() {
    file.symlink("d.csv", "another")
    is.null(writeLines("x", "another"))
  },
  "write through a hard link" = function() {
    file.link("d.csv", "second") && is.null(writeLines("x", "second"))
  },
  "read beside the data" = function() nchar(readLines(file.path(outside, "secret.txt"))) > 0,
  "read passwords" = function() length(readLines("/etc/passwd")) > 0,
  "read another process" = function() length(readLines("/proc/1/environ")) > 0,
  "write outside" = function() is.null(writeLines("x", file.path(outside, "read", "new.txt"))),
  "make a folder outside" = function() dir.create(file.path(outside, "read", "new")),
  "a fifo" = function() isOpen(fifo("pipe", "w+")),
  "the internet" = function() {
    isOpen(socketConnection(port = as.integer(facts[2]), timeout = 2, open = "r"))
  },
  "listen" = function() inherits(serverSocket(0L), "servsockconn"),
  "a signal outside" = function() tools::pskill(as.integer(facts[3]), 0L),
  "a file above the limit" = function() {
    to <- file("above", "wb")
    on.exit(close(to))
    writeBin(raw(3e6), to)
    flush(to)
    file.size("above") > 2.5e6
  }
)
for (name in names(tries)) {
  done <- tryCatch(suppressWarnings(isTRUE(tries[[name]]())), error = function(e) FALSE)
  cat(name, ": ", if (done) "done" else "kept", "\n", sep = "")
}
