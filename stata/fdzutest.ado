*! fdzutest: test for a U shape without the ends of the range
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzutest x xsquared [, min(#) max(#) quadratic fieller level(#)], after a regression
* Rules:   the model of fdzregress only. Ends that are not named are those of the data, as in the
*          original. They are not shown, nor are slopes there; and unless enough cases have these
*          values, the test is shown in classes: t values would give the ends back together with
*          the coefficients.
program fdzutest, rclass
    version 14
    syntax varlist(min=2 max=2 numeric) [, MIN(string) MAX(string) Quadratic Inverse Fieller ///
        Level(real 95) CRItical(string) *]
    fdzparameters, critical(`critical')
    tokenize `varlist'
    if missing(e(df_r)) | e(df_r) < `fdz_df' {
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    quietly count if e(sample) & abs(`2' - `1'^2) > 1e-6 * abs(`2')
    if "`inverse'" != "" | r(N) > 0 {
        display as error "FDZ: only for a variable and its square"
        exit 198
    }
    tempname one two cov a b c theta under
    scalar `one' = _b[`1']
    scalar `two' = _b[`2']
    matrix `cov' = e(V)
    scalar `b' = `cov'[rownumb(`cov', "`1'"), colnumb(`cov', "`2'")]
    quietly summarize `1' if e(sample), meanonly
    local low = r(min)
    local high = r(max)
    local exact 1
    local worst 0
    local sides 0
    foreach end in min max {
        local x = cond("`end'" == "min", `low', `high')
        if "``end''" == "" {
            quietly count if e(sample) & `1' == `x'
            local exact = `exact' & r(N) >= max(`fdz_minimum', `fdz_cases')
        }
        else {
            * Ends that the researcher names stand in the do-file anyway.
            local x = ``end''
        }
        scalar `c' = `one' + 2 * `two' * `x'
        local se = sqrt(_se[`1']^2 + 4 * `x'^2 * _se[`2']^2 + 4 * `x' * `b')
        local worst = max(`worst', ttail(e(df_r), abs(`c' / `se')))
        local sides = `sides' + sign(`c')
    }
    local class "not significant"
    if `sides' == 0 {
        local class = cond(`worst' < .01, "p < 0.01", cond(`worst' < .05, "p < 0.05", ///
            cond(`worst' < .1, "p < 0.10", "not significant")))
        if `exact' {
            local class = "p = " + string(`worst', "%6.4f")
        }
    }
    display as text "Extreme point:            " as result %10.0g -`one' / (2 * `two')
    display as text "Test for a U shape:       " as result "`class'"
    if "`fieller'" != "" {
        * All places at which the slope may be 0.
        local square = invttail(e(df_r), (100 - `level') / 200)^2
        scalar `a' = 4 * (`two'^2 - `square' * _se[`2']^2)
        scalar `theta' = 2 * (`one' * `two' - `square' * `b')
        scalar `under' = `theta'^2 - `a' * (`one'^2 - `square' * _se[`1']^2)
        if `a' > 0 & `under' >= 0 {
            display as text "`level'% Fieller interval: " as result %10.0g ///
                (-`theta' - sqrt(`under')) / `a' "; " %10.0g (-`theta' + sqrt(`under')) / `a'
        }
        else {
            display as text "`level'% Fieller interval: unbounded"
        }
    }
    return scalar extreme = -`one' / (2 * `two')
end
