package llmtest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
)

//go:embed template.jinja
var chatTemplate string

// The shape of the network. There is one layer, and its attention and
// feed-forward outputs are zero: the next token depends on the current token
// alone, as logit(next) = base(next) + scriptGain·[next follows in a script].
const (
	width      = 256 // of an embedding
	headWidth  = 32
	feedWidth  = 32
	trainedFor = 1 << 20 // tokens of context that the file claims; the server's -c decides
)

// The logits. Scripted tokens lie far below everything else until their
// predecessor lifts them far above.
const (
	scriptGain  = 70
	scriptBase  = -30
	unlikelyRaw = -14 // bytes that babble never picks unless a grammar leaves nothing else
	otherASCII  = -3
	babbleSeed  = 7 // of the generator that cuts texts and fills embeddings
)

// Token types of tokenizer.ggml.token_type.
const (
	tokenNormal  = 1
	tokenControl = 3
)

// Chains that exist beside the scripts' own: what the model says when asked for
// a script that there is not, or for a step after the last.
const (
	noScript = "No script has this name."
	noStep   = "The script is over."
)

// WriteModel writes the model that says these scripts. The same scripts give
// the same bytes.
func WriteModel(path string, scripts Scripts) error {
	b, err := modelBytes(scripts)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

func modelBytes(scripts Scripts) ([]byte, error) {
	if err := scripts.check(); err != nil {
		return nil, err
	}
	v, entry := vocabularyOf(scripts)
	table := map[string][]string{}
	loops := map[string]bool{}
	whens := [][2]string{}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		s := scripts[name]
		for _, step := range s.Steps {
			table[name] = append(table[name], entry[step])
		}
		loops[name] = s.Loop
		if s.WhenSystem != "" {
			whens = append(whens, [2]string{s.WhenSystem, name})
		}
	}
	template := strings.NewReplacer(
		"__TABLE__", jinja(table), "__LOOPS__", jinjaBools(loops), "__WHENS__", jinja(whens),
		"__NOSCRIPT__", entry[noScript], "__NOSTEP__", entry[noStep],
	).Replace(chatTemplate)
	return v.file(template), nil
}

// vocabularyOf makes the tokens of all replies, and says which chain each is.
// Short replies come first: they have the fewest ways to be cut.
func vocabularyOf(scripts Scripts) (v *vocabulary, entry map[string]string) {
	texts := map[string]bool{noScript: true, noStep: true}
	for _, s := range scripts {
		for _, step := range s.Steps {
			texts[step] = true
		}
	}
	ordered := slices.SortedFunc(maps.Keys(texts), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	v = newVocabulary(ordered)
	entry = map[string]string{}
	for i, text := range ordered {
		entry[text] = fmt.Sprintf("s%d", i)
		v.addChain(entry[text], text)
	}
	return v, entry
}

// jinja writes a literal: JSON is one, as names hold nothing that differs.
func jinja(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and slices of them only
	}
	return string(b)
}

func jinjaBools(m map[string]bool) string {
	on := []string{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] {
			on = append(on, k)
		}
	}
	return jinja(on)
}

// learned is the merges of every model: the sample never changes.
var learned = sync.OnceValue(func() [][2]string { return learnMerges(sampleText, mergeCount) })

// vocabulary is the tokens in order with their base logits, and who follows whom.
type vocabulary struct {
	tokens    []string
	kinds     []int32
	base      []float32
	id        map[string]int
	successor map[int]int  // of a scripted token
	last      map[int]bool // scripted tokens that end their reply
	merges    []string     // how the tokenizer builds tokens out of bytes, first ones first
	eos, eot  int
	rng       *rand.Rand
}

// newVocabulary holds the bytes, the learned merges and the control tokens. A
// merge whose product is the whole text of a reply is left out, so that even a
// reply of one common word has a token of its own.
func newVocabulary(replies []string) *vocabulary {
	v := &vocabulary{id: map[string]int{}, successor: map[int]int{}, last: map[int]bool{}, rng: rand.New(rand.NewSource(babbleSeed))}
	frequency := map[byte]float64{' ': 18, '"': 6, '\n': .3, '.': 1.2, ',': 1.2, '}': 3, ']': 2, ':': 1, '{': .3, '[': .3, '-': .3, '/': .5, '_': .5}
	for i, c := range []byte("etaoinshrdlcumwfgypbvkjxqz") {
		frequency[c] = 12 / (1 + 0.35*float64(i))
	}
	for c := byte('0'); c <= '9'; c++ {
		frequency[c] = .5
	}
	for c := range 256 {
		base := float32(unlikelyRaw)
		if f := frequency[byte(c)]; f > 0 {
			base = float32(math.Log(f))
		} else if c >= ' ' && c <= '~' {
			base = otherASCII
		}
		v.add(byteLevel(string([]byte{byte(c)})), tokenNormal, base)
	}
	v.eos = v.add("<|endoftext|>", tokenControl, scriptBase)
	v.add("<|im_start|>", tokenControl, scriptBase)
	v.eot = v.add("<|im_end|>", tokenControl, float32(math.Log(3))) // ends babble after some 45 tokens
	whole := map[string]bool{}
	for _, text := range replies {
		whole[byteLevel(strings.TrimSuffix(text, "\f"))] = true
	}
	for _, m := range without(learned(), whole) {
		v.merges = append(v.merges, m[0]+" "+m[1])
		if product := m[0] + m[1]; v.id[product] == 0 { // two merges may have one product
			v.add(product, tokenNormal, scriptBase)
		}
	}
	return v
}

func (v *vocabulary) add(token string, kind int32, base float32) int {
	if _, dup := v.id[token]; dup {
		panic("llmtest: token twice: " + token)
	}
	n := len(v.tokens)
	v.id[token] = n
	v.tokens, v.kinds, v.base = append(v.tokens, token), append(v.kinds, kind), append(v.base, base)
	return n
}

// addChain makes the token <|script:NAME|> be followed by text and its end.
func (v *vocabulary) addChain(name, text string) {
	text, babble := strings.CutSuffix(text, "\f")
	pieces := v.cut(text)
	current := v.add("<|script:"+name+"|>", tokenControl, scriptBase)
	for _, p := range pieces {
		next := v.add(byteLevel(p), tokenNormal, scriptBase)
		v.successor[current] = next
		current = next
	}
	v.last[current] = !babble
}

// cut divides text into pieces of a few bytes that are no tokens yet. They may
// end inside a character, as those of real models do.
func (v *vocabulary) cut(text string) []string {
	const shortest, longest = 2, 5
	var pieces []string
	mine := map[string]bool{}
	taken := func(s string) bool {
		_, used := v.id[byteLevel(s)]
		return used || mine[s]
	}
	for text != "" {
		n := min(shortest+v.rng.Intn(longest-shortest+1), len(text))
		for n < len(text) && taken(text[:n]) {
			n++
		}
		// A rest that is a token already is joined to the pieces before it until it is none.
		for taken(text[:n]) {
			if len(pieces) == 0 {
				panic("llmtest: no way to cut " + text)
			}
			before := pieces[len(pieces)-1]
			pieces = pieces[:len(pieces)-1]
			delete(mine, before)
			text = before + text
			n = len(text)
		}
		mine[text[:n]] = true
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// file is the finished model.
func (v *vocabulary) file(template string) []byte {
	embedding, output := v.weights()
	count := len(v.tokens)
	g := &ggufFile{}
	g.set("general.architecture", "llama")
	g.set("general.type", "model")
	g.set("general.name", "scripted")
	g.set("general.file_type", 0)
	g.set("llama.context_length", trainedFor)
	g.set("llama.embedding_length", width)
	g.set("llama.block_count", 1)
	g.set("llama.feed_forward_length", feedWidth)
	g.set("llama.attention.head_count", 1)
	g.set("llama.attention.head_count_kv", 1)
	g.set("llama.attention.key_length", headWidth)
	g.set("llama.attention.value_length", headWidth)
	g.set("llama.rope.dimension_count", headWidth)
	g.set("llama.vocab_size", count)
	g.set("llama.rope.freq_base", float32(10000))
	g.set("llama.attention.layer_norm_rms_epsilon", float32(1e-6))
	g.set("tokenizer.ggml.model", "gpt2")
	g.set("tokenizer.ggml.pre", "gpt-2")
	g.set("tokenizer.ggml.tokens", v.tokens)
	g.set("tokenizer.ggml.token_type", v.kinds)
	g.set("tokenizer.ggml.merges", v.merges)
	g.set("tokenizer.ggml.bos_token_id", v.eos)
	g.set("tokenizer.ggml.eos_token_id", v.eot)
	g.set("tokenizer.ggml.padding_token_id", v.eos)
	g.set("tokenizer.ggml.add_bos_token", false)
	g.set("tokenizer.chat_template", template)

	g.tensor("token_embd.weight", embedding, width, count)
	g.tensor("output_norm.weight", filled(width, 1), width)
	g.tensor("output.weight", output, width, count)
	g.tensor("blk.0.attn_norm.weight", filled(width, 1), width)
	g.tensor("blk.0.attn_q.weight", v.noise(width*headWidth), width, headWidth)
	g.tensor("blk.0.attn_k.weight", v.noise(width*headWidth), width, headWidth)
	g.tensor("blk.0.attn_v.weight", v.noise(width*headWidth), width, headWidth)
	g.tensor("blk.0.attn_output.weight", filled(width*headWidth, 0), headWidth, width)
	g.tensor("blk.0.ffn_norm.weight", filled(width, 1), width)
	g.tensor("blk.0.ffn_gate.weight", v.noise(width*feedWidth), width, feedWidth)
	g.tensor("blk.0.ffn_up.weight", v.noise(width*feedWidth), width, feedWidth)
	g.tensor("blk.0.ffn_down.weight", filled(width*feedWidth, 0), feedWidth, width)
	return g.bytes()
}

// weights are the embedding and output matrices. Dimension 0 is constant and
// carries the base logits, dimension 1 marks the ends of replies, the others
// are a random sign pattern per token: nearly orthogonal, so that a token's
// pattern in another's output row lifts only that one.
func (v *vocabulary) weights() (embedding, output []float32) {
	const first = 2
	embedding = make([]float32, width*len(v.tokens))
	output = make([]float32, width*len(v.tokens))
	for t := range v.tokens {
		row := embedding[t*width : (t+1)*width]
		row[0] = 1
		if v.last[t] {
			row[1] = 1
		}
		for i := first; i < width; i++ {
			row[i] = float32(v.rng.Intn(2)*2 - 1)
		}
		output[t*width] = v.base[t]
	}
	for from, to := range v.successor {
		for i := first; i < width; i++ {
			output[to*width+i] = scriptGain * embedding[from*width+i] / (width - first)
		}
	}
	output[v.eot*width+1] = scriptGain
	return embedding, output
}

func filled(n int, value float32) []float32 {
	r := make([]float32, n)
	for i := range r {
		r[i] = value
	}
	return r
}

func (v *vocabulary) noise(n int) []float32 {
	r := make([]float32, n)
	for i := range r {
		r[i] = float32(v.rng.NormFloat64() * 0.02)
	}
	return r
}

// byteLevel writes bytes as the characters by which byte-level tokenizers name
// them: printable Latin-1 as itself, the others from U+0100 on.
func byteLevel(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(byteRunes[s[i]])
	}
	return b.String()
}

var byteRunes = func() (table [256]rune) {
	next := rune(256)
	for c := range table {
		if (c >= 33 && c <= 126) || (c >= 161 && c <= 172) || c >= 174 {
			table[c] = rune(c)
		} else {
			table[c] = next
			next++
		}
	}
	return table
}()
