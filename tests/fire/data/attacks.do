* Programs that try to make the log tell what one person has. Two data sets that differ in one
* person's values must give the same log. A line of dashes begins a program; the columns are
* those of test_run_attacks.py: person 17 is in records 33 and 34.
* ----
display wage[34]
* ----
display `=wage[34]'
* ----
local m = wage[34]
local ++m
display `m'
* ----
local m = wage[34]
local x `++m'
display `m'
display `x'
* ----
local m = wage[34]
tokenize `m' 5
local 1 3
local 2 4
display `1'
* ----
program p
local 1 5
macro shift
display `1'
end
local m = wage[34]
p 4 `m'
* ----
matrix A = (wage[34], 2)
scalar A = 1
display A[1,1]
* ----
scalar A = wage[34]
matrix A = (1, 2)
display scalar(A)
* ----
error `=wage[34]'
* ----
capture error `=wage[34]'
display _rc
* ----
exit `=wage[34]'
* ----
capture exit wage[34]
display _rc
* ----
capture assert wage[34] > 80000
display _rc
* ----
capture assert wage[34] > 80000
if _rc display 1
else display 2
* ----
capture assert wage < 80000
display _rc
* ----
capture assert wage < 80000
if _rc {
display 1
}
else {
display 2
}
* ----
local n 0
forvalues i = 1000(1000)100000 {
capture assert wage < `i'
if _rc local n = `n' + 1
}
display `n'
* ----
local n 0
forvalues i = 1000(1000)100000 {
capture assert wage < `i'
local n = `n' + (_rc != 0)
}
display `n'
* ----
assert wage[34] > 80000
display 1
* ----
if wage[34] > 80000 display 1
* ----
if wage[34] > 80000 display 1
else display 2
* ----
if wage[34] > 80000 {
display 1
}
else {
display 2
}
* ----
local y 0
if wage[34] > 80000 local y 1
display `y'
* ----
local y 0
if wage[34] > 80000 {
local y 1
}
display `y'
* ----
local y 0
if wage[34] <= 80000 {
local y 1
}
display `y'
* ----
local y 0
if wage[34] > 80000 {
}
else {
local y 1
}
display `y'
* ----
scalar y = 0
if wage[34] > 80000 scalar y = 1
display y
* ----
generate y = 0
if wage[34] > 80000 replace y = 1
summarize y
tabulate y
* ----
generate y = _n
if wage[34] > 80000 drop if y > 50
count
tabulate region
* ----
local i 0
while wage[34] > `i' * 1000 {
local ++i
}
display `i'
* ----
local i 0
while wage[34] > `++i' * 1000 {
}
display `i'
* ----
local i 0
forvalues j = 1/`=wage[34]/1000' {
local ++i
}
display `i'
* ----
local i 0
forvalues j = 1/`=wage[34]/1000' {
local i = `i' + 1
}
display `i'
* ----
forvalues j = 1/100 {
if `j' * 1000 > wage[34] continue, break
display `j'
}
* ----
forvalues j = 1/100 {
if `j' * 1000 > wage[34] {
continue
}
display `j'
}
* ----
forvalues j = 1/100 {
if `j' * 1000 > wage[34] {
exit
}
display `j'
}
* ----
forvalues j = 1/100 {
if `j' * 1000 > wage[34] {
error 5
}
display `j'
}
* ----
capture noisily {
forvalues j = 1/100 {
if `j' * 1000 > wage[34] {
error 5
}
display `j'
}
}
* ----
forvalues j = 1/100 {
if `j' * 1000 < wage[34] {
tabulate region
}
}
* ----
forvalues j = 1/100 {
if `j' * 1000 < wage[34] {
noisily generate x`j' = 1
}
}
describe
* ----
forvalues j = 1/100 {
if `j' * 1000 < wage[34] {
label variable region "`j'"
}
}
describe
* ----
forvalues j = 1/100 {
if `j' * 1000 < wage[34] {
global s `j'
}
}
display $s
* ----
program p
display 1
end
if wage[34] > 80000 {
program drop p
program p
display 2
end
}
p
* ----
if wage[34] > 80000 {
label define l 1 "one" 2 "two"
label values region l
}
tabulate region
* ----
if wage[34] > 80000 {
rename region gebiet
}
describe
* ----
if wage[34] > 80000 {
sort region
}
display 1
describe
* ----
if wage[34] > 80000 {
set obs 500
}
count
* ----
if wage[34] > 80000 {
cd sub
}
pwd
* ----
if wage[34] > 80000 {
set seed 5
}
else {
set seed 6
}
display runiform()
* ----
set seed `=wage[34]'
display runiform()
* ----
set seed `=wage[34]'
generate u = runiform()
summarize u
* ----
set obs `=wage[34]'
count
* ----
set obs `=wage[34]'
generate z = 1
summarize z
describe
* ----
generate k = _n
drop if k > wage[34] / 1000
count
* ----
keep in 1/`=round(wage[34]/1000)'
count
describe
* ----
count if _n <= wage[34] / 1000
* ----
summarize region if _n <= wage[34]/1000
* ----
tabulate region if _n <= wage[34]/1000
* ----
generate t = _n <= wage[34]/1000
tabulate t
* ----
generate t = _n <= wage[34]/1000
egen c = count(region), by(t)
tabulate c
summarize c
* ----
generate t = _n <= wage[34]/1000
bysort t: generate c = _N
tabulate c
summarize c
* ----
generate t = _n <= wage[34]/1000
keep if t
count
describe
* ----
generate t = _n <= wage[34]/1000
contract t
count
summarize _freq
tabulate _freq
* ----
generate t = _n <= wage[34]/1000
preserve
keep if t
generate one = 1
tempfile f
save `f'
restore
append using `f'
count
* ----
generate t = _n <= wage[34]/1000
preserve
keep if t
tempfile f
save `f'
restore
merge 1:1 pid year using `f'
* ----
generate k = _n
recode k (0/`=round(wage[34]/1000)' = 0) (else = 1)
tabulate k
* ----
generate k = _n
mvdecode k, mv(1/`=round(wage[34]/1000)')
summarize k
* ----
generate a = wage[34]
generate b = _n
rename (a b) (b a)
summarize b
* ----
generate a = wage[34]
generate b = _n
rename (a b) (b a)
summarize a
* ----
separate region, by(wage)
describe
* ----
generate z = cond(pid == 17 & year == 2002, wage, 0)
separate region, by(z)
describe
ds
* ----
generate z = cond(pid == 17 & year == 2002, wage, 0)
separate region, by(z)
foreach v of varlist region* {
display strlen("`v'")
}
* ----
generate z = cond(pid == 17 & year == 2002, wage, 0)
separate region, by(z)
foreach v of varlist region* {
display substr("`v'", 7, 2)
}
* ----
generate v`=wage[34]' = 1
foreach v of varlist v* {
display substr("`v'", 2, 2)
}
* ----
generate v`=wage[34]' = 1
ds v*
local l `r(varlist)'
display substr("`l'", 2, 2)
* ----
generate v`=wage[34]' = 1
unab l : v*
display substr("`l'", 2, 2)
* ----
generate v`=wage[34]' = region
bysort v*: tabulate sex
* ----
generate v`=wage[34]' = region
foreach v of varlist v* {
local w = substr("`v'", 2, .)
}
display `w'
* ----
keep if year == 2002
generate j = cond(pid == 17, wage, 1)
generate i = pid
keep pid j region
reshape wide region, i(pid) j(j)
describe
ds
* ----
keep if year == 2002
generate j = cond(pid == 17, wage, 1)
keep pid j region
reshape wide region, i(pid) j(j)
foreach v of varlist region* {
display substr("`v'", 7, 1)
}
* ----
expand wage if pid == 17 & year == 2002
count
* ----
expand wage/1000 if pid == 17 & year == 2002
count
* ----
expand wage / 1000 if pid == 17 & year == 2002
tabulate region
* ----
expand wage / 1000 if pid == 17 & year == 2002
describe
* ----
expand wage / 1000 if pid == 17 & year == 2002, generate(c)
tabulate c
summarize c
misstable summarize, all
* ----
expand wage / 1000 if pid == 17 & year == 2002
duplicates report
* ----
expand wage/1000 if pid == 17 & year == 2002
generate z = .
misstable summarize
* ----
expand wage/1000 if pid == 17 & year == 2002
keep if pid != 18
drop if pid == 17
* ----
expand wage/1000 if pid == 17 & year == 2002
replace region = 1 if pid == 17
* ----
expand wage/1000 if pid == 17 & year == 2002
generate q = 1 if pid != 17
* ----
expand wage/1000 if pid == 17 & year == 2002
sample 50
* ----
expand wage/1000 if pid == 17 & year == 2002
duplicates drop
* ----
generate w = cond(pid == 17 & year == 2002, round(wage/1000), 1)
tabulate region [fw=w]
summarize region [fw=w]
* ----
generate w = cond(pid == 17 & year == 2002, wage, 1)
summarize hours [fw=w]
mean hours [fw=w]
* ----
generate w = cond(pid == 17 & year == 2002, wage, 1)
tabulate region [aw=w]
tabulate region [iw=w]
* ----
generate w = cond(pid == 17 & year == 2002, wage, 10000)
summarize hours [aw=w]
* ----
generate w = cond(pid == 17 & year == 2002, wage, 0)
summarize hours [aw=w]
regress hours sex [aw=w]
* ----
tabulate wage if pid == 17 & year == 2002
* ----
tabulate region if pid == 17
* ----
tabulate name if pid == 17
* ----
tabulate kind if pid == 17
* ----
tabulate small if pid == 17
* ----
levelsof wage if pid == 17
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
tabulate z
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
tabulate s
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
tabulate s region
table s
levelsof s
proportion s
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
tabulate region, summarize(hours)
tabulate s, summarize(hours)
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
bysort z: summarize hours
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
bysort z: count
tabstat hours, by(z)
mean hours, over(z)
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
bysort z: regress hours sex
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
regress hours i.z
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
codebook z
histogram z, discrete
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
ttest hours, by(z)
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
encode s, generate(e)
tabulate e
label list e
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
encode s, generate(e)
label copy e f
label list f
label values region f
tabulate region
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
encode s, generate(e)
local l : label e 1
display "`l'"
local l : label (e) 1
display "`l'"
* ----
generate s = cond(pid == 17 & year == 2002, string(wage), "x")
encode s, generate(e)
numlabel e, add
tabulate e
tempfile f
save `f'
use `f', clear
tabulate e
label list
* ----
egen g = group(wage), label
tabulate g if pid == 17
label list g
* ----
tabulate club
* ----
summarize club
* ----
generate not = 1 - club
summarize not
* ----
mean club
tabstat club, statistics(sum)
* ----
count if club
* ----
count if !club
* ----
bysort club: summarize hours
* ----
summarize hours if !club
* ----
correlate club hours
pwcorr club hours, obs
* ----
regress hours club
* ----
ttest hours, by(club)
* ----
histogram club
* ----
codebook club
* ----
misstable summarize
* ----
replace hours = . if club
misstable summarize
* ----
egen c = total(club)
tabulate c
summarize c
display c
* ----
egen c = total(club), by(region)
tabulate c
* ----
egen c = count(hours), by(club)
tabulate c
* ----
collapse (sum) club, by(region)
summarize club
tabulate club
* ----
collapse (sum) club, by(region)
display club[2]
* ----
collapse (count) n = hours, by(club)
summarize n
tabulate n
* ----
contract club
tabulate _freq
summarize _freq
* ----
duplicates report club
* ----
duplicates tag club, generate(t)
tabulate t
* ----
drop if club
* ----
keep if club
count
display _N
* ----
keep if club
describe
* ----
drop if !club
describe
display c(N)
* ----
replace hours = 1 if club
* ----
generate z = 1 if club
* ----
egen t = tag(club)
tabulate t
* ----
xtset pid year
xtdescribe
* ----
levelsof club
* ----
levelsof pid if club, local(l)
display "`l'"
local n : word count `l'
display `n'
* ----
levelsof pid if club, local(l)
local n 0
foreach p of local l {
local ++n
}
display `n'
* ----
levelsof pid if club, local(l)
foreach p of local l {
tabulate region
}
* ----
levelsof pid if club, local(l)
foreach p of local l {
display 1
}
* ----
quietly levelsof pid if club
display r(r)
display "`r(levels)'"
* ----
quietly count if club
display r(N)
if r(N) > 2 display 1
* ----
quietly tabulate pid if club
display r(r)
display r(N)
* ----
quietly summarize hours if club
display r(N)
display r(sum)
display r(mean)
* ----
generate z = cond(pid == 17 & year == 2002, wage, 50000)
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, 50000 + (sex==1))
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, _n)
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, 50000 + runiform())
summarize z
mean z
tabstat z, statistics(mean sd sum)
* ----
generate z = 50000 + _n
replace z = wage if pid == 17 & year == 2002
summarize z
* ----
generate z = wage if pid == 17 & year == 2002
replace z = 50000 + mod(_n*7,100) if missing(z)
summarize z
* ----
generate z = wage * (pid == 17 & year == 2002) + 50000 + _n
summarize z
* ----
generate z = wage * (pid == 17 & year == 2002) + hours * 1000
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, hours * 1000)
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, pid * 1000)
mean z
* ----
generate z = cond(pid == 17 & year == 2002, wage, pid * 1000)
regress z sex
* ----
generate z = cond(pid == 17 & year == 2002, wage, pid * 1000)
correlate z sex
* ----
generate z = cond(pid == 17 & year == 2002, wage > 80000, mod(_n, 2))
tabulate z
* ----
generate z = cond(pid == 17 & year == 2002, wage > 80000, mod(_n, 2))
tabulate z region
* ----
generate z = mod(_n, 2)
replace z = wage > 80000 if pid == 17 & year == 2002
count if z
* ----
generate z = mod(_n, 2)
replace z = 1 if wage > 80000 & pid == 17 & year == 2002
count if z
* ----
generate z = mod(_n, 2)
count if z | (wage > 80000 & pid == 17 & year == 2002)
* ----
count if mod(_n, 2) | (wage > 80000 & pid == 17)
* ----
summarize hours if mod(_n, 2) | (wage > 80000 & pid == 17)
* ----
count if wage > 80000 | region == 1
* ----
summarize hours if wage > 80000 | region == 1
* ----
tabulate sex if wage > 80000 | region == 1
* ----
summarize hours if wage < 80000
* ----
count if wage < 80000
* ----
egen r = rank(wage)
summarize hours if r > 119 | region == 1
* ----
sort wage
generate k = _n
count if k > 119 & pid == 17 | region == 1
* ----
sort wage
count if pid[120] == pid | region == 1
* ----
gsort -wage
keep in 1/30
count
tabulate region
* ----
generate double z = cond(pid == 17 & year == 2002, wage, 1)
compress z
* ----
generate double z = (wage > 80000 & pid == 17) * 1e6
compress z
describe z
* ----
generate double z = (wage > 80000 & pid == 17) / 3
recast byte z
describe z
* ----
generate z = string(wage) if pid == 17
describe z
* ----
generate z = substr("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1, round(wage/4000)) if pid == 17 & year == 2002
describe z
* ----
generate z = substr("a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", 1, round(wage/4000)) if pid == 17 & year == 2002
split z
ds
* ----
generate z = cond(pid == 17 & year == 2002 & wage > 80000, "x", "1")
destring z, replace
* ----
generate z = cond(pid == 17 & year == 2002 & wage > 80000, "1000000", "1")
destring z, generate(y)
* ----
generate double z = cond(pid == 17 & year == 2002 & wage > 80000, 1e17+1.5, 1)
tostring z, generate(s)
* ----
generate z = cond(pid == 17 & year == 2002 & wage > 80000, 1000000, 1)
tostring z, generate(s)
* ----
generate str z = "a"
replace z = string(wage) if pid == 17
describe
* ----
generate byte z = 1
replace z = wage if pid == 17
describe
* ----
egen z = concat(wage name)
describe z
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000),10), 0)
tabulate z, generate(d)
ds
* ----
expand mod(floor(wage/10000),10) if pid == 17 & year == 2002
bysort pid year: generate n = _n
tabulate n, generate(d)
ds
* ----
expand mod(floor(wage/10000),10) if pid == 17 & year == 2002
bysort pid year: generate n = _n
reshape wide hours, i(pid year) j(n)
ds
* ----
bysort pid year: generate n = _n
expand wage/10000 if pid == 17 & year == 2002
display c(k)
* ----
generate z = wage > 80000
tabulate z
summarize z
regress hours z
* ----
isid pid year
generate z = cond(pid == 17 & wage > 80000, 0, _n)
capture isid z
display _rc
* ----
generate z = cond(pid == 17 & year == 2002 & wage > 80000, 1, _n)
capture xtset z
display _rc
capture merge 1:1 z using d.parquet
display _rc
* ----
generate z = cond(pid == 17 & year == 2002 & wage > 80000, 1.5, _n)
capture xtset pid z
if _rc display 1
* ----
preserve
keep if wage > 80000 & pid == 17
capture collapse (mean) wage
display _rc
restore
* ----
preserve
keep if wage > 80000 & pid == 17
capture regress hours sex
display _rc
restore
* ----
capture summarize hours if wage > 80000 & pid == 17
display _rc
* ----
capture ttest hours if wage > 80000, by(sex)
display _rc
* ----
preserve
keep if wage > 80000
if _N > 0 display 1
if _N == 0 display 2
* ----
keep if wage > 80000
if c(N) == 0 display 2
* ----
keep if wage > 80000
display _N
* ----
capture keep in 1/`=wage[34]'
display _rc
* ----
capture generate z = 1 in `=round(wage[34]/1000)'
display _rc
* ----
capture confirm number `=wage[34]'
display _rc
* ----
forvalues i = 61000/61300 {
capture confirm variable v`i'
}
generate v`=wage[34]' = 1
forvalues i = 92010/92020 {
capture confirm variable v`i'
if !_rc display `i'
}
* ----
mkdir d`=wage[34]'
forvalues i = 92010/92020 {
capture cd d`i'
if !_rc display `i'
}
* ----
preserve
keep if wage > 80000
save top
restore
display 1
* ----
tempfile t
if wage[34] > 80000 save `t'
capture confirm file `t'
display _rc
* ----
capture use `=wage[34]'
display _rc
* ----
egen m = max(wage), by(region)
summarize m
* ----
egen z = cut(wage), at(0 5000 80000 100000)
tabulate z
* ----
xtile q = wage, nquantiles(100)
tabulate q if pid == 17
summarize wage if q == 100
* ----
pctile p = wage, nquantiles(10)
summarize p
tabulate p
* ----
_pctile wage, percentiles(99.9)
generate z = hours if wage > r(r1)
summarize z
count if wage > r(r1)
* ----
centile wage, centile(99.9)
display r(c_1)
* ----
predict x
* ----
regress wage i.pid
display _b[17.pid]
* ----
generate d = pid == 17 & year == 2002
regress wage d hours
display _b[d]
* ----
generate d = pid == 17
regress wage d hours
lincom d + _cons
test d = 0
* ----
generate d = pid == 17
quietly regress wage d hours
estimates store a
estimates table a
esttab
* ----
generate d = pid != 17
regress wage d, noconstant
* ----
generate d = 1/(pid == 17)
regress wage d
* ----
regress wage hours if pid == 17
* ----
summarize wage if pid == 17
* ----
tabstat wage if pid == 17, statistics(mean min max)
* ----
histogram wage, width(1)
histogram wage if pid == 17
* ----
correlate wage hours if pid == 17
* ----
list wage
* ----
tabulate pid, summarize(wage)
* ----
table pid, contents(mean wage)
* ----
bysort pid: summarize wage
* ----
mean wage, over(pid)
* ----
collapse (max) wage
summarize wage
display wage
* ----
collapse (max) wage
expand 100
summarize wage
tabulate wage
* ----
collapse (mean) wage if pid == 17
set obs 100
replace wage = 5 if missing(wage)
summarize wage
* ----
keep if pid == 17
set obs 100
replace wage = 5 + _n if missing(wage)
replace hours = 5 if missing(hours)
replace pid = 100 + _n if missing(pid)
summarize wage
* ----
keep if pid == 17
tempfile f
save `f'
clear
set obs 60
generate pid = 100 + _n
generate wage = _n
append using `f'
summarize wage
* ----
keep if pid == 17
tempfile f
save `f'
clear
input pid wage
101 1
102 2
103 3
104 4
105 5
106 6
end
append using `f'
summarize wage
* ----
keep if pid == 17 | pid == 18
drop pid
generate pid = _n
summarize wage
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
generate z = wage * flag + k if year == 2002
summarize z
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
generate z = k
replace z = z + wage * flag
summarize z
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
egen z = mean(wage * flag + k)
summarize z
tabulate z
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
count if wage * flag + k > 130000
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
summarize hours if wage * flag > 80000
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
summarize k [aw=wage*flag+k]
* ----
count if pid == 17 & wage > 90000
* ----
count if pid == 17 & wage > 70000
* ----
count if pid == 17 & wage > 93000
count if pid == 17 & wage > 91000
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
replace k = wage if flag == 1
summarize k
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
generate s = k
replace s = wage if flag == 1 & year == 2002
mean s
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
collapse (mean) z = wage (first) k [aw=flag], by(region)
summarize z
* ----
preserve
clear
set obs 60
generate pid = _n
generate flag = int(1/(1+abs(_n-17)))
generate k = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge m:1 pid using `f', nogenerate noreport
collapse (sum) wage [iw=flag]
summarize wage
display wage
* ----
levelsof wage if pid == 17, local(w)
foreach x of local w {
display "`x'"
}
* ----
levelsof wage if pid == 17, local(w)
foreach x of local w {
local last `x'
}
display `last'
* ----
quietly summarize wage if pid == 17, meanonly
display r(mean)
if r(mean) > 80000 display 1
* ----
quietly summarize wage, meanonly
display r(max)
display r(min)
scalar m = r(max)
display m
generate z = wage / m
summarize z
* ----
program p, rclass
quietly summarize wage
return scalar m = r(max)
return local t = r(max)
end
p
display r(m)
display "`r(t)'"
local k = r(m)
display `k'
* ----
program p, rclass
quietly summarize wage
return add
end
p
display r(max)
* ----
program p, eclass
return scalar m = wage[34]
end
p
display e(m)
* ----
local x : word `=mod(wage[34],3)' of a b c
display "`x'"
* ----
local x : word wage[34] of a b c
* ----
display word("a b c", region[34])
* ----
display L.wage
* ----
xtset pid year
display L.wage
* ----
global g = wage[34]
program p
display $g
end
p
* ----
egen x = cut(wage), group(60)
tabulate x, summarize(wage)
* ----
xtile q = wage, nquantiles(60)
summarize wage if q == 60
tabulate q
* ----
sort wage
generate r = _n
quietly summarize wage if r > 116
summarize wage if r > 115
* ----
summarize hours if wage < 95000
summarize hours if wage < 80000
* ----
generate w = wage
drop if pid == 17
summarize hours
* ----
summarize hours
drop if pid == 17
summarize hours
* ----
summarize wage if pid != 17
* ----
tabulate sex
tabulate sex if pid != 17
* ----
count
count if pid != 17
* ----
correlate wage hours if pid < 60
correlate wage hours if pid < 60 & pid != 17
* ----
bysort region: summarize wage if pid != 17
* ----
xtset pid wage
xtdescribe
* ----
keep if year == 2002
xtset region wage
xtdescribe
* ----
keep if year == 2002
tsset wage
xtdescribe
* ----
generate t = cond(pid == 17 & year == 2002, wage, year)
xtset pid t
xtdescribe
xtsum hours
* ----
table region, contents(max wage min wage)
* ----
table region, contents(p99 wage)
* ----
tabstat wage, statistics(max min range)
* ----
table pid if pid == 17, contents(mean wage)
* ----
contract wage if pid == 17
summarize _freq
count
describe
* ----
collapse (p99) wage
summarize wage
* ----
collapse (max) wage, by(region)
tabulate wage
levelsof wage
summarize wage
* ----
collapse (first) wage, by(pid)
summarize wage if pid == 17
* ----
expand 1000 if pid == 17
summarize wage
* ----
expand 1000 if pid == 17
mean wage
tabstat wage, statistics(p50)
tabulate region
summarize wage, detail
centile wage
* ----
expand 1000 if pid == 17 & year == 2002
regress wage hours
* ----
bsample 60
summarize wage if pid == 17
* ----
append using d.parquet
summarize wage if pid == 17
* ----
keep if pid == 17
expand 50
summarize wage
* ----
keep if pid == 17
cross using d.parquet
summarize wage
* ----
generate str s = name
replace s = "x" if pid != 17
tabulate s
* ----
generate s = cond(pid == 17, name, "x")
tabulate s
levelsof s
tab1 s
proportion s
* ----
tabulate name if club
tabulate name
* ----
encode name, generate(e)
tabulate e if pid == 17
label list
* ----
generate s = substr(name, 1, 1)
tabulate s
tabulate s if pid == 17
* ----
label define l 92017 "a"
label values wage l
tabulate wage if wage == 92017
* ----
recode region (1 = `=wage[34]')
tabulate region
summarize region
* ----
replace region = `=wage[34]' in 1
summarize region
* ----
replace wage = 0 in 1/33
replace wage = 0 in 35/l
summarize wage
tabulate wage
* ----
replace wage = _n in 1/33
replace wage = _n in 35/l
summarize wage
* ----
replace wage = hours if pid != 17
summarize wage
* ----
replace wage = runiform() if !(pid == 17 & year == 2002)
summarize wage
mean wage
* ----
generate u = runiform()
replace u = wage if pid == 17
summarize u
* ----
set seed 1
generate u = rnormal()
replace u = u + wage if pid == 17 & year == 2002
mean u
* ----
generate x = wage in 34
replace x = _n if x == .
summarize x
* ----
generate x = wage if pid == 17
ipolate x year, generate(y) epolate
summarize y
* ----
generate x = wage if pid == 17
egen y = rowtotal(x hours)
summarize y
* ----
generate x = wage if pid == 17
egen y = rowmax(x hours)
summarize y
count if y > 80000
* ----
egen y = total(wage * (pid == 17))
summarize y
display y
* ----
egen y = max(wage)
generate z = y - wage
summarize z
* ----
egen y = max(wage), by(region)
collapse (mean) y, by(region)
summarize y
tabulate y
* ----
egen y = rank(-wage)
summarize wage if y <= 3
* ----
egen y = pctile(wage), p(99)
summarize y
* ----
egen s = concat(name)
tabulate s if pid == 17
* ----
egen d = diff(wage hours)
tabulate d
* ----
egen s = seq(), to(`=round(wage[34]/1000)')
tabulate s
summarize s
* ----
egen t = tag(wage)
tabulate t
* ----
egen m = mode(wage), maxmode
summarize m
* ----
generate z = wage - 92017
count if z == 0
* ----
generate z = wage == 92017
egen m = max(z)
tabulate m
* ----
generate z = wage == 92017
bysort region: egen m = max(z)
tabulate m
* ----
bysort region (wage): generate top = wage[_N]
tabulate region, summarize(top)
* ----
bysort region (wage): generate top = wage[_N] - wage[_N-1]
summarize top
* ----
gsort -wage
generate z = wage[1] - wage
summarize z
* ----
gsort -wage
generate z = sum(wage)
summarize z if _n <= 3
* ----
gsort -wage
generate first = pid[1]
tabulate first
* ----
gsort -wage
levelsof region in 1
* ----
gsort -wage
tabulate region in 1/2
* ----
gsort -wage
keep in 1
tabulate region
levelsof region
summarize wage
codebook
* ----
duplicates report wage
* ----
duplicates report region sex hours
* ----
duplicates tag wage, generate(t)
summarize t
* ----
duplicates drop region, force
count
summarize wage
* ----
fillin region small
count
tabulate _fillin
* ----
fillin wage region
count
* ----
tsset wage
tsfill
count
* ----
xtset pid year
tsfill, full
count
* ----
merge 1:1 pid year using d.parquet if wage > 5
* ----
generate z = wage if pid == 17
misstable summarize z
* ----
misstable summarize wage if pid == 17
* ----
codebook name
* ----
histogram wage
* ----
histogram wage, width(100) start(92000)
* ----
kdensity wage
* ----
centile wage, centile(1 99 99.9)
* ----
pwcorr wage hours if club
* ----
correlate wage club, covariance
* ----
ttest wage if pid == 17 | pid == 18, by(pid)
* ----
ttest wage == `=wage[34]'
* ----
regress wage i.pid
* ----
regress wage ibn.pid, noconstant
* ----
generate d = pid == 17
logit d hours
* ----
logit club wage
* ----
regress wage hours [aw=1/(1+1e9*abs(pid-17))]
* ----
regress wage hours [fw=1+1000*(pid==17)]
* ----
utest hours
* ----
quietly regress wage hours
test hours = `=wage[34]'
lincom hours + `=wage[34]'
* ----
use d.parquet if pid == 17, clear
summarize wage
count
describe
* ----
use wage using d.parquet, clear
summarize wage if wage > 80000
describe
* ----
preserve
keep if pid == 17
save one, replace
restore
use one, clear
summarize wage
* ----
generate m = wage[34]
save t, replace
* ----
export delimited wage using x.csv
* ----
outsheet wage using x.csv
* ----
log using x.log
list wage
log close
* ----
display "`=name[34]'"
* ----
display "`: label (region) `=region[34]''"
* ----
foreach i of numlist 1/`=round(wage[34]/10000)' {
display `i'
}
* ----
forvalues i = 1/10 {
if `i' == round(wage[34]/10000) {
local found `i'
}
}
display "`found'"
* ----
local i 1
while `i' < wage[34]/10000 {
local i = `i' + 1
if `i' > 100 continue, break
}
display `i'
* ----
local k = cond(wage[34] > 80000, 1, 2)
display `k'
local k`k' yes
display "`k1'"
* ----
local k = cond(wage[34] > 80000, 1, 2)
local x1 a
local x2 b
display "`x`k''"
* ----
local k = cond(wage[34] > 80000, 1, 2)
tokenize a b
display "``k''"
* ----
local k = cond(wage[34] > 80000, "region", "sex")
tabulate `k'
* ----
local k = cond(wage[34] > 80000, "region", "sex")
summarize `k'
quietly regress wage `k'
estimates table
* ----
local k = cond(wage[34] > 80000, "display 1", "display 2")
`k'
* ----
local k = cond(wage[34] > 80000, "*", "")
`k' display 2
* ----
local k = cond(wage[34] > 80000, "quietly", "")
`k' tabulate region
* ----
local k = cond(wage[34] > 80000, "capture", "")
`k' nonsense
* ----
local k = cond(wage[34] > 80000, "p", "q")
program p
display 1
end
program q
display 2
end
`k'
* ----
local k = cond(wage[34] > 80000, "program p", "program q")
* ----
local q = char(34)
local k = cond(wage[34] > 80000, "in 1/50", "")
count `k'
sort pid `k'
* ----
capture noisily display wage[34]
display _rc
* ----
capture {
assert wage[34] > 80000
}
local r = _rc
display `r'
* ----
capture confirm file "`=wage[34]'"
display _rc
* ----
capture drop if wage[34] > 80000
count
* ----
quietly drop if wage[34] > 80000
count
describe
display _N
* ----
keep if wage[34] > 80000 | region == 1
count
* ----
sample 50 if wage[34] > 80000
count
* ----
generate z = region if wage[34] > 80000
summarize z
count if z == .
* ----
replace region = 9 if wage[34] > 80000
tabulate region
* ----
sort region if wage[34] > 80000
* ----
order wage
local first : word 1 of `: list sort x'
display "`first'"
* ----
scalar s = 1
scalar s = s + (wage[34] > 80000)
display s
* ----
matrix A = (1, wage[34] \ 2, 3)
matrix B = A
display B[1,2]
matrix list B
* ----
scalar ab = wage[34]
display a
* ----
local a = wage[34]
local b = length("`a'")
display `b'
* ----
local a = wage[34]
local b : length local a
display `b'
* ----
local a = wage[34]
local b : list sizeof a
display `b'
* ----
local a "x y"
local b = wage[34]
local c : list a | b
display "`c'"
* ----
local b = wage[34]
local c : subinstr local b "9" "x", all
display "`c'"
* ----
local d : display %9.0f wage[34]
display "`d'"
* ----
local b = wage[34]
program p
args x
local y `x'
display `y'
end
p `b'
* ----
program p
display "`0'"
end
p `=wage[34]', option
* ----
local b = wage[34]
macro drop _b
local b 1
display `b'
local c : word count `b'
display `c'
* ----
global b = wage[34]
macro drop b
display "$b"
* ----
local x = wage[34]
local `x' 5
display "`92017'"
* ----
forvalues i = 1/20 {
quietly sort wage
quietly summarize hours in `i'/120
display r(mean)
}
* ----
forvalues i = 1/20 {
summarize hours if wage > `i' * 100
}
* ----
forvalues i = 80000(500)95000 {
count if wage > `i'
}
* ----
forvalues i = 80000(500)95000 {
summarize hours if wage < `i'
}
* ----
forvalues i = 80000(500)95000 {
quietly count if wage < `i'
display r(N)
}
* ----
forvalues i = 80000(500)95000 {
preserve
drop if wage < `i'
restore
}
* ----
forvalues i = 80000(500)95000 {
replace sex = sex if wage > `i'
}
* ----
forvalues i = 80000(500)95000 {
generate z`i' = wage > `i'
tabulate z`i'
}
* ----
forvalues i = 80000(500)95000 {
generate z`i' = 1 if wage < `i'
}
* ----
forvalues i = 60000(500)95000 {
quietly generate z`i' = max(wage, `i')
quietly summarize z`i'
display r(mean)
}
* ----
generate z = max(wage, 50000)
summarize z
* ----
generate z = max(wage - 50000, 0) + hours
summarize z
* ----
generate z = floor(wage / 50000)
summarize z
tabulate z
* ----
generate z = wage^20
summarize z
* ----
generate z = log(wage)
summarize z if z > 11
* ----
generate z = autocode(wage, 2, 0, 100000)
tabulate z
* ----
generate z = irecode(wage, 50000)
tabulate z
summarize z
* ----
generate z = inrange(wage, 90000, 95000)
tabulate z
* ----
generate z = inlist(wage, 92017)
summarize z
tabulate z
* ----
generate z = string(wage) == "92017"
tabulate z
* ----
generate z = strpos(string(wage), "92") == 1
tabulate z
* ----
generate z = regexm(string(wage), "^92")
tabulate z
count if z
* ----
generate z = strmatch(name, "Q*")
tabulate z
summarize z
* ----
count if regexm(name, "^Q")
count if strmatch(name, "Z*")
* ----
count if name == "Quentin"
count if name == "Zebulon"
* ----
generate z = strlen(name)
tabulate z
summarize z
* ----
generate z = strlen(name) > 3
tabulate z
* ----
generate z = word("a b", 1 + (wage > 80000))
tabulate z
* ----
recode wage (92017 = 1) (else = 0), generate(d)
tabulate d
* ----
egen a = anymatch(wage), values(92017)
tabulate a
summarize a
* ----
egen a = anycount(wage), values(92017)
count if a
* ----
generate z = 1
drop z
rename wage z
generate y = cond(pid == 17 & year == 2002, z, 50000 + _n)
summarize y
* ----
generate z = 1
rename (wage z) (z q)
generate y = z * int(1/(1+abs(pid-17))) + _n + 50000
summarize y
* ----
replace wage = . if pid != 17
egen y = rowtotal(wage hours)
summarize y
* ----
clonevar x = wage
replace x = . if pid != 17
egen y = rowmax(x hours)
summarize y
* ----
generate k = 80000 + _n
egen y = rowmax(wage k)
summarize y
* ----
recode wage (min/80000 = 0), generate(z)
generate k = 50000 + mod(_n*7, 100)
generate y = z + k
summarize y
* ----
recode wage (min/60000 = 0), generate(z)
summarize z
tabulate z
* ----
egen z = anyvalue(wage), values(92017 61244)
egen y = rowtotal(z hours)
summarize y
* ----
preserve
keep pid year
replace pid = 0 if pid == 17
generate wage = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
merge 1:1 pid year using `f', update replace keep(1 3 4 5)
summarize wage
* ----
preserve
clear
set obs 60
generate pid = _n
expand 2
bysort pid: generate year = 2000 + _n
generate wage = 50000 + mod(_n*7,100)
drop if pid == 17
tempfile f
save `f'
restore
merge 1:1 pid year using `f', update replace
summarize wage
* ----
mvdecode wage, mv(1/60000)
egen y = rowtotal(wage hours)
summarize y
* ----
separate wage, by(pid == 17)
egen y = rowtotal(wage1 hours)
summarize y
summarize wage1
* ----
egen m = mean(wage) if pid == 17
replace m = 50000 + _n if m == .
summarize m
* ----
bysort pid: egen m = max(wage)
replace m = 50000 + _n if pid != 17
summarize m
* ----
collapse (mean) wage, by(pid)
replace wage = 50000 + _n if pid != 17
summarize wage
* ----
keep if year == 2002
reshape wide wage, i(pid) j(year)
replace wage2002 = 50000 + _n if pid != 17
summarize wage2002
* ----
tostring wage, generate(s) force
replace s = "a" if pid != 17
describe s
tabulate s
encode s, generate(e)
tabulate e
summarize e
* ----
generate s = string(wage)
generate d = substr(s, 1, 1) if pid == 17
destring d, generate(n)
egen y = rowtotal(n hours)
summarize y
* ----
preserve
keep if pid != 17
replace wage = 50000 + mod(_n*7,100)
tempfile f
save `f'
restore
keep if pid == 17
append using `f'
summarize wage
* ----
preserve
keep if pid == 17
tempfile f
save `f'
restore
keep if pid != 17
replace wage = 50000 + mod(_n*7,100)
append using `f'
summarize wage
* ----
replace sex = 5 if wage < 80000
* ----
recode wage (min/80000 = 1)
* ----
mvdecode wage, mv(1/80000)
* ----
generate z = 1 if wage > 80000
* ----
replace hours = . if wage < 80000
* ----
drop if wage < 80000
* ----
keep if wage > 80000
* ----
if wage[34] > 80000 {
generate u = runiform()
}
display runiform()
* ----
drop if _n > wage[34]/1000
generate u = runiform()
display runiform()
* ----
keep if wage > 60000
sample 50
display runiform()
* ----
program p, rclass
if wage[34] > 80000 {
return scalar a = 1
}
end
p
display r(a)
* ----
program q, rclass
return scalar a = 2
end
program p, rclass
if wage[34] > 80000 {
return scalar b = 3
}
q
end
p
display r(b)
* ----
if wage[34] > 80000 {
preserve
}
restore
display 1
* ----
preserve
if wage[34] > 80000 {
restore
}
restore
display 1
* ----
generate x = hours
if wage[34] > 80000 {
replace x = 1 if pid == 20
replace x = 1 if pid == 21
replace x = 1 if pid == 22
replace x = 1 if pid == 23
}
drop if pid == 30
summarize hours
* ----
if wage[34] > 80000 {
quietly regress hours i.region if pid != 18
}
regress hours i.region
* ----
regress hours i.region
if wage[34] > 80000 {
regress wage hours
}
matrix A = e(b)
display A[1,1]
esttab
* ----
if wage[34] > 80000 {
encode kind, generate(k)
}
label list
* ----
if wage[34] > 80000 {
replace region = 1000
}
describe region
local t : type region
display "`t'"
* ----
if wage[34] > 80000 {
assert 0
}
display _rc
* ----
if wage[34] > 80000 {
reshape wide hours wage small club, i(pid) j(year)
}
reshape long
* ----
drop if _n > wage[34]/1000
set obs 80
display 1
* ----
drop if _n > wage[34]/1000
forvalues i = 1(20)120 {
display `i'
summarize hours in 1/`i'
}
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
sort z
summarize hours in 1/60
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
bysort region (z): generate k = _n
summarize hours if k <= 20
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
gsort -z
drop z
generate k = sum(1)
summarize hours if k <= 60
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
sort z
egen k = seq()
generate u = runiform() < .5
summarize hours if k <= 60
summarize hours if u
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
sort z
sample 50
summarize hours
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
sort z
collapse (first) hours sex, by(region)
summarize sex
* ----
generate z = (wage[34] > 80000) * sex + (wage[34] <= 80000) * (1 - sex)
sort z
duplicates drop region, force
summarize hours
* ----
generate w = _n * 1000
generate z = wage[34]
xtile c = w, cutpoints(z)
tabulate c
* ----
generate z = wage[34] + (_n > 60)
mvdecode z, mv(92017)
* ----
generate z = wage[34] + (_n > 60)
recode z (92017 = 1)
* ----
forvalues b = 50000(5000)90000 {
display `b'
quietly summarize hours [aw=`=140000-`b'' - wage]
}
* ----
forvalues b = 50000(5000)90000 {
display `b'
preserve
collapse hours if wage > `b'
restore
}
display 1
assert wage < 50000
* ----
forvalues b = 60000(5000)100000 {
display `b'
preserve
bsample 1 if wage > `b'
restore
}
* ----
forvalues b = 60000(5000)95000 {
display `b'
quietly generate z`b' = rbinomial(10, 50000 / (wage * (wage > 155000 - `b') + 50000))
quietly generate y`b' = rpoisson(`b' - wage)
summarize y`b' if _n < 0
}
* ----
forvalues b = 60000(5000)110000 {
display `b'
quietly generate z = regexr("x", cond(wage > 155000 - `b', "(", "a"), "")
drop z
}
* ----
forvalues b = 92000/92030 {
capture mvencode wage, mv(`b')
if _rc display `b'
}
* ----
capture generate z = "a" * (1000000 + wage - 80000)
display _rc
* ----
generate z = wage if pid != 17
ttest wage == z
ttest wage == z, unpaired
display r(t)
* ----
generate z = wage + (pid == 17 & year == 2002 & wage > 80000)
ttest wage == z
display r(mu_2)
* ----
ttest hours, by(club) level(90)
display r(sd)
* ----
ttest wage if club, by(year)
display r(mu_2)
