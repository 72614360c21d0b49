*! fdzregress: regress, shown only if no case can be read from it
*! NOT YET RUN IN STATA: certify it before use, see README.md
* Syntax:  fdzregress depvar [indepvars] [if] [in] [weight] [, options of regress]
* Rules:   residual degrees of freedom; cases per dummy; leverage. What is not safe is not
*          shown and not kept.
program fdzregress, eclass byable(recall)
    version 14
    syntax varlist(numeric fv ts) [if] [in] [aweight fweight iweight pweight] [, ///
        CRItical(string) vce(passthru) Robust CLuster(passthru) Level(passthru) Beta NOConstant]
    fdzparameters, critical(`critical')
    marksample touse
    if "`cluster'" != "" {
        local name : subinstr local cluster "cluster(" "", all
        local name : subinstr local name ")" "", all
        markout `touse' `name', strok
    }
    local weights
    local plain
    if "`weight'" != "" {
        local weights "[`weight'`exp']"
        * Frequencies would count one case as many: leverage and degrees of freedom are of cases.
        local plain "[aweight`exp']"
    }
    gettoken left right : varlist
    local ok 1
    fvrevar `right' if `touse'
    foreach name in `r(varlist)' {
        quietly count if `touse' & `name' != 0
        local some = r(N)
        quietly count if `touse' & `name' == 0
        local others = r(N)
        local few = (`some' > 0 & `some' < `fdz_minimum') | (`others' > 0 & `others' < `fdz_minimum')
        local ok = `ok' & !`few'
    }
    * Leverage does not depend on how standard errors are made; some forbid to ask for it.
    capture quietly regress `varlist' `plain' if `touse', `noconstant'
    if _rc {
        local failed = _rc
        ereturn clear
        display as text "FDZ: the model could not be estimated"
        exit `failed'
    }
    local ok = `ok' & e(df_r) >= `fdz_df'
    if `ok' {
        tempvar hat
        quietly predict double `hat' if e(sample), hat
        quietly count if e(sample) & (`hat' > .99 | missing(`hat'))
        local ok = r(N) == 0
    }
    if `ok' {
        quietly regress `varlist' `weights' if `touse', `vce' `robust' `cluster' `noconstant'
        local ok = e(df_r) >= `fdz_df' | ("`vce'`robust'`cluster'" != "" & e(N) - e(rank) >= `fdz_df')
    }
    if !`ok' {
        ereturn clear
        display as text "FDZ: withheld for confidentiality"
        exit
    }
    * Without variables the command shows the results of the model again.
    regress, `level' `beta'
end
