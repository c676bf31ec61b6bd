package llmtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The value types of GGUF metadata that we write.
const (
	ggufUint32 = 4
	ggufInt32  = 5
	ggufFloat  = 6
	ggufBool   = 7
	ggufString = 8
	ggufArray  = 9
)

const (
	ggufVersion = 3
	ggufAlign   = 32
	ggufF32     = 0 // tensor type
)

// ggufFile collects a GGUF file: header, metadata, tensor list, tensor data.
type ggufFile struct {
	meta, list, data bytes.Buffer
	metas, tensors   uint64
}

func put(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err) // only for a type of no fixed size: a mistake in this package
	}
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

// set adds one metadata entry.
func (g *ggufFile) set(key string, value any) {
	g.metas++
	putString(&g.meta, key)
	switch v := value.(type) {
	case int:
		put(&g.meta, []uint32{ggufUint32, uint32(v)})
	case float32:
		put(&g.meta, uint32(ggufFloat))
		put(&g.meta, v)
	case bool:
		put(&g.meta, uint32(ggufBool))
		put(&g.meta, v)
	case string:
		put(&g.meta, uint32(ggufString))
		putString(&g.meta, v)
	case []string:
		put(&g.meta, []uint32{ggufArray, ggufString})
		put(&g.meta, uint64(len(v)))
		for _, s := range v {
			putString(&g.meta, s)
		}
	case []int32:
		put(&g.meta, []uint32{ggufArray, ggufInt32})
		put(&g.meta, uint64(len(v)))
		put(&g.meta, v)
	default:
		panic(fmt.Sprintf("llmtest: GGUF metadata %s of type %T", key, value))
	}
}

// tensor adds one tensor; dims[0] is the contiguous dimension.
func (g *ggufFile) tensor(name string, values []float32, dims ...int) {
	pad(&g.data)
	g.tensors++
	putString(&g.list, name)
	put(&g.list, uint32(len(dims)))
	count := 1
	for _, d := range dims {
		put(&g.list, uint64(d))
		count *= d
	}
	if count != len(values) {
		panic(fmt.Sprintf("llmtest: tensor %s has %d values, want %d", name, len(values), count))
	}
	put(&g.list, uint32(ggufF32))
	put(&g.list, uint64(g.data.Len()))
	put(&g.data, values)
}

func (g *ggufFile) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(ggufVersion))
	put(&b, g.tensors)
	put(&b, g.metas)
	b.Write(g.meta.Bytes())
	b.Write(g.list.Bytes())
	pad(&b)
	b.Write(g.data.Bytes())
	return b.Bytes()
}

func pad(b *bytes.Buffer) {
	for b.Len()%ggufAlign != 0 {
		b.WriteByte(0)
	}
}
