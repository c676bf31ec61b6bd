package main

// model is the protocol as every face needs it: methods, and the types that
// they carry, in an order that doesn't depend on anything but the source.
type model struct {
	root          string
	version       int
	methods       []method // client → server
	notifications []method // server → client
	requests      []method // server → client
	objects       []*object
	opsTable      string // of cycle.Op's comment
	codes         []code
	limits        []limit
}

// method is a request or a notification.
type method struct {
	goName string
	name   string // on the wire
	doc    string
	params string // an object's name; "" for none
	result string // likewise; "unknown" for what LSP defines
	goIn   string // Go types, for the Go face
	goOut  string
}

// object is a named type: a record with fields, a set of strings, or a choice
// between records.
type object struct {
	name   string
	doc    string
	fields []field
	values []value
	oneOf  []*object
}

// field is a member of a record.
type field struct {
	name     string
	typ      shape
	optional bool
	doc      string
}

// value is one string of a set.
type value struct {
	text, doc string
}

// shape is a type as a field has it.
type shape struct {
	kind     kind
	elem     *shape   // of list and table
	ref      string   // of object
	literals []string // of literal
	nullable bool
}

type kind int

const (
	unknown kind = iota
	text
	integer
	number
	boolean
	list
	table // from strings to elem
	ref
	literal
)

// code is the name of a kind of error.
type code struct{ name, doc string }

// limit is a named bound.
type limit struct{ name, value, doc string }

func (m *model) object(name string) *object {
	for _, o := range m.objects {
		if o.name == name {
			return o
		}
	}
	return nil
}
