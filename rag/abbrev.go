package rag

import "strings"

// abbreviations are how programs write words that people write out, and the other
// way round. They are of the trade, not of any project.
var abbreviations = func() map[string][]string {
	m := map[string][]string{}
	for ln := range strings.Lines(abbreviationList) {
		w := strings.Fields(ln)
		for i, a := range w {
			for j, b := range w {
				if i != j {
					m[stem(a)] = append(m[stem(a)], stem(b))
				}
			}
		}
	}
	return m
}()

const abbreviationList = `address addr
allocate alloc
allocation alloc
application app
argument arg
asynchronous async
attribute attr
authentication auth
authorization authz
buffer buf
calculate calc
callback cb
certificate cert
character char
column col
command cmd
compare cmp
concurrent concurrency
configuration config cfg conf
connection conn
constant const
context ctx
control ctrl
coordinate coord
count cnt
current cur curr
database db
declaration decl
decrement decr
definition def
delete del
dependency dep
description desc
destination dest dst
destroy destructor
developer dev
dictionary dict
difference diff
directory dir
document doc
documentation doc
duplicate dup
dynamic dyn
element elem
environment env
error err
escape esc
evaluate eval
example demo
exception exc
execute exec
expression expr
extension ext
file fs
filesystem fs
format fmt
function func fn
generate gen
generator gen
hexadecimal hex
identifier id
identity id
implementation impl
increment incr
index idx
information info
initialize init
initialization init
instance inst
integer int
internal intern
interpolation interp
iterator iter
javascript js
language lang
length len
library lib
list ls
location loc
manager mgr
markdown md
maximum max
memory mem
message msg
metadata meta
minimum min
module mod
multiple multi
mutex lock
notification notify
number num
object obj
operation op
operator op
optimize opt
option opt
original orig
package pkg
parameter param
parser parse
password passwd
permission perm
pointer ptr
position pos
preference pref
previous prev
private priv
process proc
property prop
protocol proto
public pub
python py
query qry
random rand
receive recv
recursive recurse
reference ref
regex regexp
regular reg
register reg
replication repl
repository repo
request req
resource res
response resp res
result res
return ret
sequence seq
serialize ser
server srv
session sess
signature sig
source src
specification spec
standard std
statement stmt
statistics stats
string str
structure struct
substitute subst
symbol sym
synchronize sync
synchronous sync
system sys
table tbl
temperature temp
temporary tmp temp
terminal term tty
token tok
transaction tx txn
transform xform
typescript ts
utilities util
utility util
value val
variable var
vector vec
version ver
window win
`
