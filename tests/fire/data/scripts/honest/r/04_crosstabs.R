suppressPackageStartupMessages(library(dplyr))

firms <- read.csv2("firms.csv")
firms$size <- cut(firms$employees, c(0, 10, 50, 250, Inf), labels = c("S", "M", "L", "XL"))
firms$exports <- firms$export_value > 0

table(firms$size, firms$exports)
table(firms$size)
cor(firms$turnover, firms$employees)
