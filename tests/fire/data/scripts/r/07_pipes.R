library(dplyr)
d <- read.csv("a.csv")
d |> head() # LEAK
d %>% print # LEAK
d |> filter(x > 3) |> print() # LEAK
d %>% summary() # SAFE
d %>% View() # LEAK
