* Programs that try to make the log tell what one person has. Two data sets that differ in one
* person's values must give the same log. A line of dashes begins a program; the columns are
* those of test_run_attacks.py: person 17 is in records 33 and 34.
* ----
summarize region if _n <= wage[34]/1000
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
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
tabulate z
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
bysort z: summarize hours
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
bysort z: count
tabstat hours, by(z)
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
regress hours i.z
* ----
generate z = cond(pid == 17 & year == 2002, mod(floor(wage/1000), 10), 0)
codebook z
* ----
tabulate club
* ----
summarize club
* ----
generate not = 1 - club
summarize not
* ----
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
regress hours club
* ----
codebook club
* ----
tabulate t
* ----
xtset pid year
xtdescribe
* ----
generate z = cond(pid == 17 & year == 2002, wage, 50000)
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, 50000 + (sex==1))
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, pid)
summarize z
* ----
generate z = 50000 + pid
replace z = wage if pid == 17 & year == 2002
summarize z
* ----
generate z = wage if pid == 17 & year == 2002
replace z = 50000 + mod(pid*7,100) if missing(z)
summarize z
* ----
generate z = wage * (pid == 17 & year == 2002) + 50000 + pid
summarize z
* ----
generate z = wage * (pid == 17 & year == 2002) + hours * 1000
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, hours * 1000)
summarize z
* ----
generate z = cond(pid == 17 & year == 2002, wage, pid * 1000)
regress z sex
* ----
generate z = cond(pid == 17 & year == 2002, wage > 80000, mod(pid, 2))
tabulate z
* ----
generate z = cond(pid == 17 & year == 2002, wage > 80000, mod(pid, 2))
tabulate z region
* ----
generate z = mod(pid, 2)
replace z = wage > 80000 if pid == 17 & year == 2002
count if z
* ----
generate z = mod(pid, 2)
replace z = 1 if wage > 80000 & pid == 17 & year == 2002
count if z
* ----
generate z = mod(pid, 2)
count if z | (wage > 80000 & pid == 17 & year == 2002)
* ----
count if mod(pid, 2) | (wage > 80000 & pid == 17)
* ----
summarize hours if mod(pid, 2) | (wage > 80000 & pid == 17)
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
generate z = wage > 80000
tabulate z
summarize z
regress hours z
* ----
generate z = cond(pid == 17 & wage > 80000, 0, pid)
summarize z
* ----
summarize hours if wage > 80000 & pid == 17
* ----
generate d = pid == 17
regress wage d hours
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
bysort pid: summarize wage
* ----
keep if pid == 17 | pid == 18
drop pid
generate pid = hours
summarize wage
* ----
count if pid == 17 & wage > 90000
* ----
count if pid == 17 & wage > 70000
* ----
count if pid == 17 & wage > 93000
count if pid == 17 & wage > 91000
* ----
xtset pid year
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
xtset wage
xtdescribe
* ----
tabstat wage, statistics(max min range)
* ----
append using d.parquet
summarize wage if pid == 17
* ----
generate str s = name
replace s = "x" if pid != 17
tabulate s
* ----
generate s = cond(pid == 17, name, "x")
tabulate s
* ----
tabulate name if club
tabulate name
* ----
tabulate wage if wage == 92017
* ----
replace wage = hours if pid != 17
summarize wage
* ----
generate z = wage - 92017
count if z == 0
* ----
summarize t
* ----
merge 1:1 pid year using d.parquet if wage > 5
* ----
codebook name
* ----
regress wage i.pid
* ----
regress wage ibn.pid, noconstant
* ----
utest hours
* ----
use d.parquet if pid == 17, clear
summarize wage
count
* ----
use wage using d.parquet, clear
summarize wage if wage > 80000
* ----
count if wage > 80000
count if wage > 80500
count if wage > 81000
count if wage > 81500
count if wage > 82000
count if wage > 82500
count if wage > 83000
count if wage > 83500
count if wage > 84000
count if wage > 84500
count if wage > 85000
count if wage > 85500
* ----
summarize hours if wage < 80000
summarize hours if wage < 80500
summarize hours if wage < 81000
summarize hours if wage < 81500
summarize hours if wage < 82000
summarize hours if wage < 82500
summarize hours if wage < 83000
summarize hours if wage < 83500
summarize hours if wage < 84000
summarize hours if wage < 84500
summarize hours if wage < 85000
summarize hours if wage < 85500
* ----
generate z80000 = wage > 80000
tabulate z80000
generate z80500 = wage > 80500
tabulate z80500
generate z81000 = wage > 81000
tabulate z81000
generate z81500 = wage > 81500
tabulate z81500
generate z82000 = wage > 82000
tabulate z82000
generate z82500 = wage > 82500
tabulate z82500
generate z83000 = wage > 83000
tabulate z83000
generate z83500 = wage > 83500
tabulate z83500
generate z84000 = wage > 84000
tabulate z84000
generate z84500 = wage > 84500
tabulate z84500
generate z85000 = wage > 85000
tabulate z85000
generate z85500 = wage > 85500
tabulate z85500
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
generate z = inrange(wage, 90000, 95000)
tabulate z
* ----
generate z = inlist(wage, 92017)
summarize z
tabulate z
* ----
count if name == "Quentin"
count if name == "Zebulon"
* ----
recode wage (92017 = 1) (else = 0), generate(d)
tabulate d
* ----
recode wage (min/80000 = 0), generate(z)
generate k = 50000 + mod(pid*7, 100)
generate y = z + k
summarize y
* ----
recode wage (min/60000 = 0), generate(z)
summarize z
tabulate z
* ----
use region wage if pid == 17 & year == 2002 using d.parquet, clear
merge 1:m region using d.parquet, keepusing(pid year)
summarize wage
tabstat wage, by(year)
* ----
use region wage if pid == 17 & year == 2002 using d.parquet, clear
merge 1:m region using d.parquet, keepusing(pid year hours) nogenerate
generate z = wage + hours
summarize z if year == 2001
regress z hours
* ----
use if wage > 80000 using d.parquet, clear
append using d.parquet
summarize wage
count
* ----
keep if wage > 80000
append using d.parquet
tabulate region
summarize hours
* ----
generate top = wage > 80000
merge 1:1 pid year using d.parquet, keepusing(hours)
tabulate top
tabulate _merge
* ----
keep if pid != 17
merge 1:1 pid year using d.parquet
tabulate _merge
summarize wage if _merge == 2
* ----
bysort region (wage): generate m = wage[_N]
generate z = wage - m
summarize z
tabulate m
* ----
quietly summarize hours
quietly summarize wage if pid != 17
* ----
quietly summarize wage
* ----
quietly summarize wage, detail
* ----
quietly count if wage > 80000
* ----
summarize wage if wage > 80000
* ----
regress hours wage if wage > 80000
* ----
recode wage (min/80000 = 0) (80000/max = 1), generate(rich)
tabulate rich
tabulate rich region
codebook rich
* ----
recode wage (min/80000 = 0) (80000/max = 1)
summarize wage
tabulate wage
* ----
recode pid (17 = 1) (else = 0), generate(him)
generate z = him * wage
summarize z
regress hours z
* ----
recode pid (17 = 1) (else = 0), generate(him)
tabulate him
summarize wage if him
* ----
xtset pid year
xtsum wage if wage > 80000
xtdescribe if wage > 80000
* ----
xtset pid year
generate rich = wage > 80000
xtsum rich
xtdescribe if rich
* ----
regress hours wage if wage > 80000
utest hours wage
* ----
generate w2 = wage * wage
regress hours wage w2
utest wage w2
utest wage w2, min(50000) max(100000)
* ----
generate w2 = wage * wage
replace w2 = 1 if wage > 80000
regress hours wage w2
utest wage w2
* ----
generate z = max(wage, 80000) - 80000
summarize z
count if z
* ----
generate z = round(wage, 100000)
tabulate z
summarize z
* ----
generate z = int(wage / 80000)
tabulate z
regress hours z
* ----
generate z = mod(wage, 10)
tabulate z if wage > 5000
* ----
count if wage > 60000
drop if wage > 60000
count if wage > 70000
drop if wage > 70000
count if wage > 80000
drop if wage > 80000
count if wage > 90000
drop if wage > 90000
summarize wage
count
* ----
quietly count if wage < 90000
quietly count if wage < 90500
quietly count if wage < 91000
quietly count if wage < 91500
quietly count if wage < 92000
quietly count if wage < 92500
quietly count if wage < 93000
quietly count if wage < 93500
quietly count if wage < 94000
quietly count if wage < 94500
quietly count if wage < 95000
* ----
generate z90000 = wage < 90000
tabulate z90000
generate z90500 = wage < 90500
tabulate z90500
generate z91000 = wage < 91000
tabulate z91000
generate z91500 = wage < 91500
tabulate z91500
generate z92000 = wage < 92000
tabulate z92000
generate z92500 = wage < 92500
tabulate z92500
generate z93000 = wage < 93000
tabulate z93000
generate z93500 = wage < 93500
tabulate z93500
generate z94000 = wage < 94000
tabulate z94000
generate z94500 = wage < 94500
tabulate z94500
generate z95000 = wage < 95000
tabulate z95000
* ----
generate z = wage
replace z = 0 if pid != 17
summarize z
tabstat z, by(region)
* ----
generate str10 t = name
tabulate t if name == "Quentin"
tabulate kind if name != "Quentin"
count if t == "Quentin"
* ----
generate t = name + kind
tabulate t
count if t == "Quentinc"
* ----
replace name = "nobody" if name != "Quentin"
tabulate name
* ----
generate z = cond(name == "Quentin", 1, 0)
tabulate z
summarize wage if z
