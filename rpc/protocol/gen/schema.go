package main

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// schemaFace is a JSON Schema: every type under $defs, and which of them each
// method carries. Unknown members are allowed everywhere, for fields may be added.
func schemaFace(m *model) ([]byte, error) {
	type carried struct {
		Doc    string             `json:"description"`
		Params *jsonschema.Schema `json:"params"`
		Result *jsonschema.Schema `json:"result,omitempty"`
	}
	carry := func(list []method, results bool) map[string]carried {
		out := map[string]carried{}
		for _, x := range list {
			c := carried{Doc: x.doc, Params: payloadSchema(x.params)}
			if results {
				c.Result = payloadSchema(x.result)
			}
			out[x.name] = c
		}
		return out
	}
	top := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		Title:  "agent-lsp protocol", Comment: generated,
		Defs: map[string]*jsonschema.Schema{},
		Extra: map[string]any{
			"protocolVersion": m.version, "methods": carry(m.methods, true),
			"serverRequests": carry(m.requests, true), "notifications": carry(m.notifications, false),
		},
	}
	for _, o := range m.objects {
		top.Defs[o.name] = objectSchema(o)
	}
	data, err := json.MarshalIndent(top, "", "  ")
	return append(data, '\n'), err
}

func payloadSchema(name string) *jsonschema.Schema {
	switch name {
	case "":
		return &jsonschema.Schema{Type: "object"}
	case "unknown":
		return &jsonschema.Schema{}
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func objectSchema(o *object) *jsonschema.Schema {
	s := &jsonschema.Schema{Description: o.doc}
	switch {
	case o.values != nil:
		s.Type = "string"
		for _, v := range o.values {
			s.Enum = append(s.Enum, v.text)
		}
	case o.oneOf != nil:
		for _, one := range o.oneOf {
			s.OneOf = append(s.OneOf, objectSchema(one))
		}
	default:
		s.Type = "object"
		s.Properties = map[string]*jsonschema.Schema{}
		for _, f := range o.fields {
			p := shapeSchema(f.typ)
			p.Description = f.doc
			s.Properties[f.name] = p
			s.PropertyOrder = append(s.PropertyOrder, f.name)
			if !f.optional {
				s.Required = append(s.Required, f.name)
			}
		}
	}
	return s
}

func shapeSchema(t shape) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch t.kind {
	case text:
		s.Type = "string"
	case integer:
		s.Type = "integer"
	case number:
		s.Type = "number"
	case boolean:
		s.Type = "boolean"
	case list:
		s.Type, s.Items = "array", shapeSchema(*t.elem)
	case table:
		s.Type, s.AdditionalProperties = "object", shapeSchema(*t.elem)
	case ref:
		s.Ref = "#/$defs/" + t.ref
	case literal:
		for _, l := range t.literals {
			s.Enum = append(s.Enum, l)
		}
	}
	if t.nullable {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	return s
}
