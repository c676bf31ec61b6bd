package agent

import (
	"regexp"
	"strings"
)

// What comes from files, tools and the web stands in the prompt between <data>
// and </data>, and the system prompt says that nothing there is an instruction.
// A text that could end its own block, or begin another, would speak with the
// agent's voice.

// dataMark is a mark of a block as a text may hold it, in any spelling that a
// model may take for one.
var dataMark = regexp.MustCompile(`(?i)<(\s*/?\s*data\b)`)

// dataBlock is a text from source as data.
func dataBlock(source, text string) string {
	return `<data source="` + dataSource.Replace(source) + "\">\n" + defuse(text) + "\n</data>"
}

// dataSource keeps a name, which a hostile repository may have chosen, inside
// its quotes.
var dataSource = strings.NewReplacer(`"`, "'", "\n", " ", "\r", " ", "<", "(", ">", ")")

// defuse makes a text's own marks harmless; all else stays as it is.
func defuse(text string) string { return dataMark.ReplaceAllString(text, `<\$1`) }
