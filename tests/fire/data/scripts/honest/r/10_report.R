# ---- settings
started <- Sys.time()
cat("R", R.version.string, "\n")
regions <- c(north = 1, south = 2)

# ---- data
d <- read.csv("data.csv")
d$month <- as.integer(format(as.Date(d$date), "%m"))
d$text <- trimws(tolower(d$text))
north <- d[d$region == regions[["north"]], ]

# ---- results
if (length(regions) > 1) {
  cat("two regions\n")
}
mean(north$value)
cat("mean", round(mean(north$value), 2), "sd", sd(north$value), "\n")
cat(sprintf("median %.1f\n", quantile(north$value, 0.5)))
quantile(north$value, 0.5)
fit <- lm(value ~ month, north)
fit
cat("started", format(started), "\n")
