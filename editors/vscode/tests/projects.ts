/** The projects that tests work on. */
export const greeting: Record<string, string> = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "go.mod": "module example.org/greeting\n\ngo 1.22\n",
  "greet.go": `// Package greeting greets.
package greeting

import "fmt"

// Hello greets somebody by name.
func Hello(name string) string {
	return fmt.Sprintf("Hello, %s!", clean(name))
}

// clean makes a name fit for a greeting.
func clean(name string) string {
	if name == "" {
		return "world"
	}
	return name
}

// Twice greets two times.
func Twice(name string) string {
	return Hello(clean(name)) + Hello(clean(name))
}
`,
  "greet_test.go": `package greeting

import "testing"

func TestHello(t *testing.T) {
	if Hello("") != "Hello, world!" {
		t.Fatal("no greeting")
	}
}
`,
};
