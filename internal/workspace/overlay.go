package workspace

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Limits of the overlay.
const (
	DocsMax     = 10_000
	DocBytesMax = 64 << 20
)

// Change is one content change of an open document, as the editor protocol
// sends it: Range is nil when Text is the whole new content. The changes of a
// list refer to the text that the ones before them left.
type Change struct {
	Range *text.Range
	Text  string
}

// Doc is an editor's open buffer. It is a value: what is returned never changes.
type Doc struct {
	URI     string // as the editor spells it
	Place   Place
	Version int32
	Text    string
	Saved   string // Text when it was last saved, or on disk when it was opened
}

// Dirty says whether there is something in the buffer that was not saved.
func (d Doc) Dirty() bool { return d.Text != d.Saved }

// OpenDoc takes note of a buffer. Opening one again replaces it.
func (w *Workspace) OpenDoc(uri string, version int32, s string) (Doc, error) {
	p, err := w.Resolve(uri)
	if err != nil {
		return Doc{}, err
	}
	if len(s) > DocBytesMax {
		return Doc{}, p.tooLarge(int64(len(s)), DocBytesMax)
	}
	saved := w.savedText(p, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.docs[p.Abs]; !ok && len(w.docs) >= DocsMax {
		return Doc{}, fmt.Errorf("%s: %d documents are open already; close some", p.Path, DocsMax)
	}
	d := &Doc{URI: uri, Place: p, Version: version, Text: s, Saved: saved}
	w.docs[p.Abs] = d
	return *d, nil
}

// savedText is what a buffer that is opened with s has as its saved text: s, unless
// the file holds something else, as when an editor brings back what was unsaved
// when it was closed. Editors may turn line ends and encodings into their own;
// that is no change.
func (w *Workspace) savedText(p Place, s string) string {
	disk, err := w.ReadDisk(p)
	if err != nil {
		return s
	}
	_, now := SplitForm(disk.Data)
	if now == s || oneEnd(now) == oneEnd(s) || !utf8.ValidString(now) {
		return s
	}
	return now
}

// oneEnd is a text with every line end as \n.
func oneEnd(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// ChangeDoc makes changes to a buffer and gives it before and after, with the
// edits of the text before that lead to the text after.
func (w *Workspace) ChangeDoc(uri string, version int32, changes []Change, enc text.Encoding) (before, after Doc, edits []text.Edit, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.doc(uri)
	if err != nil {
		return Doc{}, Doc{}, nil, err
	}
	before = *d
	s := d.Text
	for i, c := range changes {
		var step []text.Edit
		if c.Range == nil {
			step = text.Diff(s, c.Text)
		} else {
			span := text.NewIndex(s).Span(*c.Range, enc)
			step = []text.Edit{{Start: span.Start, End: span.End, New: c.Text}}
		}
		next, err := text.Apply(s, step)
		if err != nil {
			return Doc{}, Doc{}, nil, fmt.Errorf("%s: change %d: %w", d.Place.Path, i, err)
		}
		if len(next) > DocBytesMax {
			return Doc{}, Doc{}, nil, d.Place.tooLarge(int64(len(next)), DocBytesMax)
		}
		if i == 0 {
			edits = step
		} else {
			edits = text.Compose(before.Text, edits, step)
		}
		s = next
	}
	d.Text, d.Version = s, version
	return before, *d, edits, nil
}

// SaveDoc takes note that a buffer is on disk now.
func (w *Workspace) SaveDoc(uri string) (Doc, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.doc(uri)
	if err != nil {
		return Doc{}, err
	}
	d.Saved = d.Text
	return *d, nil
}

// CloseDoc forgets a buffer and gives its last state.
func (w *Workspace) CloseDoc(uri string) (Doc, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := w.doc(uri)
	if err != nil {
		return Doc{}, err
	}
	delete(w.docs, d.Place.Abs)
	return *d, nil
}

// doc finds an open buffer by its URI as the editor spells it, or by its place.
func (w *Workspace) doc(uri string) (*Doc, error) {
	for _, d := range w.docs {
		if d.URI == uri {
			return d, nil
		}
	}
	return nil, fmt.Errorf("the document %.200q is not open", uri)
}

// Doc gives the buffer over a place.
func (w *Workspace) Doc(p Place) (Doc, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d, ok := w.docs[p.Abs]; ok {
		return *d, true
	}
	return Doc{}, false
}

// Docs gives all open buffers by path.
func (w *Workspace) Docs() []Doc {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Doc, 0, len(w.docs))
	for _, d := range w.docs {
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Doc) int { return strings.Compare(a.Place.Path, b.Place.Path) })
	return out
}
