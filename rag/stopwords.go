package rag

import "strings"

// stopWords say nothing about where in a project something is. The second
// half are the words of commit messages and requests themselves.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(stopWordList) {
		m[w] = true
		m[stem(w)] = true
	}
	return m
}()

const stopWordList = `a about above after again all also although always am an and any are as at be because been before being
below between both but by can cannot could did do does doing don done down during each either else etc even ever few for
from further had has have having he her here him his how however i if in into is isn it its itself just let like may me
might more most much must my need needs no nor not now of off on once only or other our out over own per rather same see
she should since so some such than that the their them then there these they this those though through thus to too under
until up upon us use used uses using very via want was way we well were what when where whether which while who why will
with within without would yet you your
fix fixes fixed fixing add adds added adding make makes made making change changes changed changing update updates
updated remove removes removed removing ensure improve support instead ve re ll doesn won wasn aren feat chore refactor
bug issue issues pr commit patch problem currently previously new one two first possible work works working case cases
due please explain tell`
