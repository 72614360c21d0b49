/* Auswertung der Löhne - Übersicht
   Stand: März */
* Für größere Betriebe: nur Männer und Frauen über 25
use "O:/fdz/Löhne.dta", clear
label var lohn "Täglicher Lohn (EUR je Tag)"
gen größe = ln(lohn) // Löhne in Logarithmen
ta geschlecht größe if größe>0 /// Übergang
    , m
bys geschl: su lohn
lis größe in 1/5
