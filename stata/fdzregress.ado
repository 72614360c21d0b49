*! fdzregress: regress, shown only if no case can be read from it
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzregress depvar [indepvars] [if] [in] [weight] [, options of regress]
* Rules:   residual degrees of freedom; cases per level and per cell of an interaction, the base
*          included; leverage. What is not safe is not shown and not kept.
program fdzregress, eclass byable(recall)
    version 14
    syntax varlist(numeric fv ts) [if] [in] [aweight fweight iweight pweight] [, ///
        CRItical(string) vce(passthru) Robust CLuster(passthru) HC2 HC3 NOConstant HAScons ///
        TSSCONS Level(passthru) Beta noHEader noTABle EForm(passthru) DEPname(passthru) *]
    fdzparameters, critical(`critical')
    marksample touse
    local weights
    local plain
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
        * Frequencies would count one case as many: leverage and degrees of freedom are of cases.
        local plain "[aweight`exp']"
    }
    local how `vce' `robust' `cluster' `hc2' `hc3'
    local constants `noconstant' `hascons' `tsscons'
    capture quietly regress `varlist' `weights' if `touse', `how' `constants' `options'
    if _rc {
        local failed = _rc
        ereturn clear
        display as text "FDZ: the model could not be estimated"
        exit `failed'
    }
    quietly replace `touse' = e(sample)
    local ok = e(df_r) >= `fdz_df' | ("`how'" != "" & e(N) - e(rank) >= `fdz_df')
    tempname asked
    _estimates hold `asked'
    gettoken left right : varlist
    if trim("`right'") != "" {
        fvexpand `right' if `touse'
        local terms `r(varlist)'
        * Without the marks of base levels and omitted ones: these have cases too.
        foreach mark in "bn." "b." "o." {
            local terms : subinstr local terms "`mark'" ".", all
        }
        foreach term of local terms {
            fvrevar `term' if `touse'
            local name `r(varlist)'
            quietly count if `touse' & `name' != 0
            local some = r(N)
            quietly count if `touse' & `name' == 0
            local others = r(N)
            if inrange(`some', 1, `fdz_minimum' - 1) | inrange(`others', 1, `fdz_minimum' - 1) {
                local ok 0
            }
        }
    }
    * Leverage does not depend on how standard errors are made; some forbid to ask for it.
    capture quietly regress `varlist' `plain' if `touse', `noconstant'
    if _rc {
        local ok 0
    }
    else {
        local ok = `ok' & e(df_r) >= `fdz_df'
        tempvar hat
        quietly predict double `hat' if e(sample), hat
        quietly count if e(sample) & (`hat' > .99 | missing(`hat'))
        local ok = `ok' & r(N) == 0
    }
    if !`ok' {
        _estimates drop `asked'
        ereturn clear
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    _estimates unhold `asked'
    * Without variables the command shows the results of the model again.
    regress, `level' `beta' `header' `table' `eform' `depname' `options'
end
