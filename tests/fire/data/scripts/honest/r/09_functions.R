standardise <- function(x, na.rm = TRUE) {
  (x - mean(x, na.rm = na.rm)) / sd(x, na.rm = na.rm)
}
deflate <- function(frame, index = 1.02) {
  frame$real <- frame$income / index
  return(frame)
}

tests <- read.csv("tests.csv")
tests <- deflate(tests)
for (name in c("maths", "reading")) {
  tests[[paste0("z_", name)]] <- standardise(tests[[name]])
}
tests$grade <- ifelse(tests$maths > 50, "high", "low")
levels(tests$school) <- c("a", "b")
cat(sprintf("%d waves\n", 2L))
table(tests$grade)
summary(tests$z_maths)
