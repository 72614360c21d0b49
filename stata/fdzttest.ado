*! fdzttest: ttest of groups, pairs and variables that are large enough
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzttest varname [if] [in] , by(varname) [unequal welch level(#)]
*          fdzttest varname == # [if] [in] [, level(#)]
*          fdzttest varname == varname [if] [in] [, unpaired unequal welch level(#)]
*          each with [entity(varname) critical(p)]
* Results: as ttest, but for what is withheld
* Rules:   see fdzcheck. Two groups make up the combined row, two variables their difference: if one
*          of three may not be shown, none is. The same of deviations, and of all that follows.
*          What stands on the right is a number or a variable, and no expression.
program fdzttest, rclass byable(recall)
    version 14
    gettoken first rest : 0, parse(" =,")
    local rest = ltrim(`"`rest'"')
    local right
    if substr(`"`rest'"', 1, 1) == "=" {
        while substr(`"`rest'"', 1, 1) == "=" {
            local rest = ltrim(substr(`"`rest'"', 2, .))
        }
        gettoken right rest : rest, parse(" ,")
    }
    local 0 `first' `rest'
    syntax varname(numeric) [if] [in] [, by(varname) UNEqual UNPaired Welch Level(real 95) ///
        ENTity(varname) CRItical(string)]
    fdzparameters, critical(`critical')
    if (`"`right'"' == "") == ("`by'" == "") | `level' < 10 | `level' > 99.99 {
        display as error "FDZ: ttest takes by(), a number or a variable, and a level from 10 to 99.99"
        exit 198
    }
    marksample touse, novarlist
    local name `varlist'
    local rules minimum(`fdz_minimum') k(`fdz_k') p(`fdz_p')
    if "`entity'" != "" {
        local rules `rules' entity(`entity')
    }
    local null 0
    local other
    if `"`right'"' != "" {
        capture confirm number `right'
        if _rc {
            confirm numeric variable `right'
            unab other : `right', max(1)
        }
        else {
            local null `right'
        }
    }
    preserve
    quietly keep if `touse'
    tempvar side value
    if "`other'" != "" & "`unpaired'" != "" {
        quietly expand 2, generate(`side')
        quietly generate double `value' = cond(`side', `other', `name')
        quietly replace `side' = `side' + 1
        local label1 "`name'"
        local label2 "`other'"
        local parts "`value'"
        local two 1
    }
    else if "`by'" != "" {
        quietly egen long `side' = group(`by') if !missing(`name'), label
        quietly generate double `value' = `name'
        quietly drop if missing(`side')
        quietly levelsof `side', local(levels)
        local number : word count `levels'
        if `number' != 2 {
            display as error "FDZ: by() must make two groups"
            exit 420
        }
        local label1 : label (`side') 1
        local label2 : label (`side') 2
        local two 1
    }
    else if "`other'" != "" {
        quietly drop if missing(`name', `other')
        quietly generate double `value' = `name' - `other'
        local label1 "`name'"
        local label2 "`other'"
        local two 0
    }
    else {
        quietly drop if missing(`name')
        local two 0
    }
    * What is looked at: conditions of groups, or variables.
    local ok 1
    local spread 1
    if `two' {
        foreach condition in "`side' == 1" "`side' == 2" "1" {
            fdzcheck `value' if `condition', `rules'
            local ok = `ok' & `fdz_ok'
            local spread = `spread' & `fdz_spread'
        }
    }
    else {
        local all `name'
        if "`other'" != "" {
            local all `name' `other' `value'
        }
        foreach one of local all {
            fdzcheck `one', `rules'
            local ok = `ok' & `fdz_ok'
            local spread = `spread' & `fdz_spread'
        }
    }
    display
    local title "One-sample t test"
    local stub "Variable"
    if `two' {
        local title "Two-sample t test with equal variances"
        if "`unequal'`welch'" != "" {
            local title "Two-sample t test with unequal variances"
        }
        if "`by'" != "" {
            local stub "Group"
        }
    }
    else if "`other'" != "" {
        local title "Paired t test"
    }
    display as text "`title'"
    display as text %12s "`stub'" " {c |}     Obs        Mean   Std. err.   Std. dev." ///
        "  [`level'% conf. interval]"
    display as text "{hline 13}{c +}{hline 65}"
    if !`ok' {
        display as text %12s "(withheld)" " {c |}" %8s "." _continue
        display as text "           ." "           ." "           ." "           ." "           ."
        display as text "FDZ: . withheld for confidentiality, or missing"
        exit
    }
    if `two' {
        foreach at in 1 2 {
            quietly summarize `value' if `side' == `at'
            fdzttest_row `"`label`at''"' `r(N)' `r(mean)' `r(sd)' `spread' `level'
            local n`at' = r(N)
            local mu`at' = r(mean)
            local sd`at' = cond(`spread', r(sd), .)
        }
        quietly summarize `value'
        fdzttest_row "Combined" `r(N)' `r(mean)' `r(sd)' `spread' `level'
        local sd = cond(`spread', r(sd), .)
        local diff = `mu1' - `mu2'
        local df = `n1' + `n2' - 2
        local se = sqrt(((`n1' - 1) * `sd1'^2 + (`n2' - 1) * `sd2'^2) / `df' * (1 / `n1' + 1 / `n2'))
        if "`unequal'`welch'" != "" {
            local a = `sd1'^2 / `n1'
            local b = `sd2'^2 / `n2'
            local se = sqrt(`a' + `b')
            local df = (`a' + `b')^2 / (`a'^2 / (`n1' - 1) + `b'^2 / (`n2' - 1))
            if "`welch'" != "" {
                local df = (`a' + `b')^2 / (`a'^2 / (`n1' + 1) + `b'^2 / (`n2' + 1)) - 2
            }
        }
        local half = invttail(`df', (100 - `level') / 200) * `se'
        display as text "        diff {c |}" as result "           " %9.0g `diff' ///
            "   " %9.0g `se' "            " "   " %9.0g (`diff' - `half') "   " %9.0g (`diff' + `half')
        local null 0
        local what "diff"
        local told "mean(1) - mean(2)"
    }
    else {
        local at 0
        foreach one of local all {
            local at = `at' + 1
            quietly summarize `one'
            local shown = cond("`one'" == "`value'", "diff", "`one'")
            fdzttest_row "`shown'" `r(N)' `r(mean)' `r(sd)' `spread' `level'
            local n`at' = r(N)
            local mu`at' = r(mean)
            local sd`at' = cond(`spread', r(sd), .)
        }
        local diff = `mu`at'' - `null'
        local se = `sd`at'' / sqrt(`n`at'')
        local df = `n`at'' - 1
        local what "mean"
        local told "mean(`name')"
        if "`other'" != "" {
            local what "mean(diff)"
            local told "mean(`name' - `other')"
        }
    }
    local t = `diff' / `se'
    local below = 1 - ttail(`df', `t')
    local above = ttail(`df', `t')
    local both = 2 * ttail(`df', abs(`t'))
    display as text "{hline 13}{c +}{hline 65}"
    display as text "    `what' = `told'"
    display as text "t =" as result "  " %9.4f `t' as text "   degrees of freedom =" as result " " %9.0g `df'
    display as text "H0: `what' =" as result " " %9.0g `null'
    display as text "Pr(T < t) =" as result " " %6.4f `below' as text "   Pr(|T| > |t|) =" ///
        as result " " %6.4f `both' as text "   Pr(T > t) =" as result " " %6.4f `above'
    if !`spread' {
        display as text "FDZ: . withheld for confidentiality, or missing"
    }
    return scalar level = `level'
    local kept "n1 N_1 mu1 mu_1 sd1 sd_1"
    if `two' | "`other'" != "" {
        local kept "`kept' n2 N_2 mu2 mu_2 sd2 sd_2"
    }
    if `two' {
        local kept "`kept' sd sd"
    }
    if `spread' {
        local kept "`kept' se se df df_t t t below p_l above p_u both p"
    }
    while "`kept'" != "" {
        gettoken from kept : kept
        gettoken to kept : kept
        if "``from''" != "." {
            return scalar `to' = ``from''
        }
    }
end

* One row: cases and mean; what follows from the deviation only where that may be shown.
program fdzttest_row, rclass
    version 14
    args label n mean sd spread level
    if !`spread' {
        local sd .
    }
    local se = `sd' / sqrt(`n')
    local half = invttail(`n' - 1, (100 - `level') / 200) * `se'
    display as text %12s abbrev(`"`label'"', 12) " {c |}" as result %8.0f `n' "   " %9.0g `mean' ///
        "   " %9.0g `se' "   " %9.0g `sd' "   " %9.0g (`mean' - `half') "   " %9.0g (`mean' + `half')
end
