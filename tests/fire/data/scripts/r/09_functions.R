d <- read.csv("a.csv")
show_all <- function(value) {
  print(value) # LEAK
  value
}
show_all(d) # LEAK
(function(x) cat(x))(d$x) # LEAK
f <- \(x) message(x) # LEAK
