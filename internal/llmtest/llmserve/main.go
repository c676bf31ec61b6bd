// Command llmserve runs the scripted model behind the fault proxy for tests
// that are not written in Go. It prints one line of JSON, then serves until its
// standard input ends:
//
//	{"baseURL": "http://127.0.0.1:PORT/v1", "model": "scripted"}
//
// POST /_faults takes faults, one a line ("429:1", "cut:5", "always delay:20ms");
// GET /_requests gives the bodies of all model requests so far. -scripts DIR
// adds a folder of script files.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
)

func main() {
	dir := flag.String("scripts", "", "folder of further .txtar scripts")
	context := flag.Int("context", 0, "tokens of context")
	flag.Parse()
	if err := run(*dir, *context, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "llmserve:", err)
		os.Exit(1)
	}
}

func run(dir string, context int, stdin io.Reader, stdout io.Writer) error {
	scripts := llmtest.DefaultScripts()
	if dir != "" {
		more, err := llmtest.LoadScripts(os.DirFS(dir), ".")
		if err != nil {
			return err
		}
		scripts = scripts.With(more)
	}
	server, err := llmtest.Launch(llmtest.Options{Scripts: scripts, Context: context})
	if err != nil {
		return err
	}
	defer server.Stop()
	proxy, err := llmtest.Before(server.URL)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	front := &http.Server{Handler: proxy}
	defer front.Close()
	failed := make(chan error, 2)
	go func() { failed <- front.Serve(ln) }()
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		failed <- err
	}()
	err = json.NewEncoder(stdout).Encode(map[string]string{
		"baseURL": "http://" + ln.Addr().String() + "/v1", "model": server.Model,
	})
	if err != nil {
		return err
	}
	return <-failed
}
