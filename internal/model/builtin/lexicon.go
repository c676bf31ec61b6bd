package builtin

import (
	"strings"
	"unicode"
)

// stop are words that carry no subject.
var stop = set(`a an the of to in on at for from by with without into onto out over under is are was were be been being
am do does did doing done has have had having can could will would shall should may might must it its it's this that these
those there here and or but if then else so as than when while where what which who whom whose why how i me my we us our
you your they them their he she his her please exactly actually really just only also even still any some all every each
both between one two either neither not no nor up off about me show tell find explain describe give list get go goes
happens happen work works working code codebase project repo repository place places part implementation implemented
implement implements definition defined define defines declared declare located locate live lives living used use uses using
applied apply applies happening thing things way ways kind kinds sort sorts mean means meaning look looks see
source responsible exist exists made make makes take takes taken put within inside via through against after before during
same different other another more most less least first last next own such very much many new old again upon until
does doesn't don't isn't aren't won't can't anywhere somewhere everywhere`)

// kindWords say what sort of thing is meant. They are a subject only inside a
// compound: "content type", "function types".
var kindWords = set(`function functions method methods func type types struct structs class classes variable variables constant
constants field fields file files line lines package packages module modules interface interfaces library`)

// vague verbs are what questions are asked with; code seldom says them.
var vague = set(`enforce enforced handle handled store stored keep kept determine determined decide decides decided perform performed
occur occurs cause caused affect affects deal dealt involve involved control controls controlled manage managed provide provided
support supported ensure ensured achieve achieved treat treated process processed ends contain contains hold holds held`)

// weak words are subjects, but so common in code that they tell places apart
// badly.
var weak = set(`request response server client handle handler value data name key string error result return call called
message object user time list item set run start stop state context option config path number size input output event create add
check default process internal current case go http json sql text buffer byte bytes map argument parameter`)

// abbreviations stand for each other inside identifiers.
var abbreviations = groups(`
connection connections conn
request requests req
response responses resp res rsp
configuration config cfg conf
header headers hdr
message messages msg
context ctx
argument arguments args arg
parameter parameters params param
temporary temp tmp
directory directories dir dirs
database db
authentication authenticate auth
authorization authorize auth
initialize initialise initialization init
maximum max limit
minimum min
length len
number num
buffer buf
error errors err errs
function fn func
statement statements stmt
transaction transactions tx
transaction transactions txn
environment env
command commands cmd
index idx
pointer ptr
string str
document doc
documentation doc docs
expression expressions expr
identifier identifiers ident id
declaration declarations decl
previous prev
address addr
register registration reg
multiplexer mux
certificate certificates cert certs
reference references ref refs
synchronize synchronise sync
asynchronous async
utility util
specification spec
application app
operation operations op ops
original orig
source src
destination dst dest
attribute attributes attr
property properties prop props
element elements elem
position pos
character characters char
integer int
boolean bool
process processes proc
execute execution exec
execute execution executable
password passwd pwd
regular regexp
information info
package pkg
standard std
description desc
sequence seq
generator gen
generate generation gen
allocate allocation alloc
calculate calc compute
receive recv
`)

// synonyms are looser: what one person calls parsing another calls reading.
var synonyms = groups(`
parse read decode scan unmarshal extract
read load fetch
choose select pick precedence prefer specific priority decide resolve
match matches matching
compare conflict
serialize serialise marshal encode write
deserialize deserialise unmarshal decode
delete remove drop clear evict purge
create new make build construct
limit max bound cap
timeout deadline expire timer expiry
expired expire expiry maxage
retry retries rewind again backoff attempt
close shutdown stop
start listen begin serve run launch
send write emit deliver
receive read accept
cancel abort done stop
check validate verify valid
validate valid verify check
invalid bad malformed illegal
redirect follow location
reuse cache pool idle keepalive
keep-alive keepalive alive
cache cached memoize store
lock mutex
concurrent parallel goroutine
parallel concurrent
encrypt cipher tls
compress gzip deflate
decompress gunzip gzip uncompress
escape quote unescape
sort order less
log logging print printf
wait block join
split separate fields
join concat
convert transform translate
detect sniff guess determine
determine detect decide
guess detect sniff
copy clone
replace substitute
skip ignore omit
ignore skip omit
omit omitempty empty skip
raise throw panic
handle serve
dispatch route serve
route routing dispatch pattern
register handle add
find lookup search
lookup find look get
search find lookup
kill terminate signal
terminate kill
open dial connect
connect dial open
dial connect
establish dial connect open
reject refuse deny forbid
prevent avoid guard forbid
protect guard prevent
rollback undo abort
commit
free release put
return put release
append add
upgrade hijack switch
download get fetch
upload multipart post
strip trim
trim strip
render write execute
fall fallback default
default fallback
recover panic
panic recover
case insensitive fold equalfold
insensitive fold
canonical normalize canonicalize
normalize canonical clean
unknown disallow undefined unrecognized unexpected unsupported
forbid disallow
nested depth nesting
depth nested nesting
recursion recursive depth nesting
leak orphan
proxy
chunked chunk
track record trackconn
drain flush discard
body
hop
relative abs
overflow exceed toolarge large
exceed overflow toolarge exceeded
interrupt signal
error fail failure
fail error failure
size length
content-type contenttype mime
mime contenttype
`)

// verbs (their stems) may stand before their object in a name: cookies are
// parsed by parseCookies.
var verbs = set(`parse read decode scan unmarshal write encode marshal serialize deserialize choose select pick match compare
delete remove create new make build limit retry close shutdown start serve send receive cancel check validate verify redirect
follow reuse cache lock compress decompress escape sort log wait split join convert detect sniff copy clone replace skip
handle dispatch route register find lookup kill open dial connect reject prevent commit rollback free release append upgrade
upload download strip trim render recover canonicalize normalize drain flush hijack load store resolve execute run print
format scan quote unquote prepare begin ping evict expire clean set get put add stop track notify signal call invoke
authenticate hash sign encrypt decrypt generate compute update merge apply bind listen accept throttle schedule queue poll`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// groups maps each group's first… words to the whole group: every word of an
// abbreviation group leads to the others.
func groups(table string) map[string][]string {
	m := map[string][]string{}
	for _, row := range strings.Split(table, "\n") {
		words := strings.Fields(row)
		for _, w := range words {
			m[w] = append(m[w], words...)
		}
	}
	return m
}

// stem takes the ordinary English endings off, so that "parsing", "parsed" and
// "parses" meet. It is crude on purpose: both sides go through it.
func stem(w string) string {
	w = strings.ToLower(w)
	if len(w) <= 3 {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-2]
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "s"):
		return stem(w[:len(w)-1])
	case strings.HasSuffix(w, "ing") && len(w) > 5:
		return ending(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && len(w) > 4:
		return ending(w[:len(w)-2])
	}
	return ending(w)
}

// ending drops a mute e and a doubled consonant, and unifies y and i.
func ending(w string) string {
	w = undouble(w)
	if len(w) > 3 && w[len(w)-1] == 'e' {
		w = w[:len(w)-1]
	}
	if len(w) > 3 && w[len(w)-1] == 'y' {
		w = w[:len(w)-1] + "i"
	}
	return w
}

func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeioulsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// parts splits an identifier or a text into lower-case words, by case, digits
// and punctuation: "tryPutIdleConn" → try put idle conn; "HTTPServer" → http server.
func parts(s string) []string {
	var out []string
	runes := []rune(s)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(string(runes[start:end])))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush(i)
			continue
		}
		if start >= 0 {
			prev := runes[i-1]
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			switch {
			case unicode.IsUpper(r) && (unicode.IsLower(prev) || unicode.IsDigit(prev)),
				unicode.IsUpper(r) && unicode.IsUpper(prev) && nextLower && !(i+2 == len(runes) && runes[i+1] == 's'),
				unicode.IsDigit(r) != unicode.IsDigit(prev) && unicode.IsDigit(r):
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return out
}

// isIdentifier says whether a word can only be a name in code: mixed case,
// an underscore, a dot or parentheses inside.
func isIdentifier(w string) bool {
	if w == "" {
		return false
	}
	inner, letters := false, false
	for i, r := range w {
		switch {
		case unicode.IsLetter(r):
			letters = true
			if i > 0 && unicode.IsUpper(r) {
				inner = true
			}
		case r == '_' || unicode.IsDigit(r):
			inner = inner || (r == '_' && i > 0)
		case r == '.':
			inner = true
		default:
			return false
		}
	}
	return letters && inner
}

// isName says whether s is one identifier of a programming language.
func isName(s string) bool {
	for i, r := range s {
		if !(unicode.IsLetter(r) || r == '_' || r == '$' || (i > 0 && unicode.IsDigit(r))) {
			return false
		}
	}
	return s != ""
}
