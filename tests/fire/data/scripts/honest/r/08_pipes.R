library(dplyr)
`%notin%` <- Negate(`%in%`)

d <- readRDS("survey.rds")
clean <- d |>
  subset(weight > 0) |>
  transform(lincome = log1p(income))
by_region <- clean %>%
  group_by(region) %>%
  mutate(mean_income = mean(income)) %>%
  ungroup()
by_region$above <- by_region$income > by_region$mean_income
table(by_region$above)
clean$lincome |> mean()
