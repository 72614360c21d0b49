read_adults <- function(path) {
  frame <- read.csv(path, stringsAsFactors = FALSE)
  frame <- subset(frame, age >= 18)
  frame$female <- as.integer(frame$sex == "f")
  frame
}

data <- read_adults("persons.csv")
fit <- glm(employed ~ age + female, family = binomial(), data = data)
cat("Employment, logit\n")
summary(fit)
