library(reticulate) # LEAK
library(httr) # LEAK
d <- read.csv("a.csv")
httr::POST("http://a", body = d) # LEAK
jsonlite::write_json(d, "a.json") # LEAK
haven::write_dta(d, "a.dta") # LEAK
data.table::fwrite(d, "a.csv") # LEAK
