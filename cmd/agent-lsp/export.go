package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

type exportCmd struct {
	Run_ string `arg:"" name:"run" optional:"" help:"The run's id, or its beginning; the folder's latest when left out."`
	JSON bool   `name:"json" help:"An export is JSON anyway."`
	Out  string `short:"o" name:"output" placeholder:"FILE" help:"Where to write; standard output when left out."`
}

// Run writes a run into one file.
func (c exportCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		rec, err := h.engine.Export(ctx, c.Run_, h.secrets())
		if err != nil {
			return err
		}
		var body bytes.Buffer
		if err := printJSON(&body, rec); err != nil {
			return err
		}
		if c.Out == "" || c.Out == "-" {
			_, err := s.out.Write(body.Bytes())
			return err
		}
		if err := os.WriteFile(c.Out, body.Bytes(), 0o600); err != nil {
			return fmt.Errorf("the export can't be written: %w", err)
		}
		fmt.Fprintf(s.err, "%s: run %s, %d events, %d model calls, %d secrets taken out; read it before you send it\n", c.Out, rec.RunID, len(rec.Events), len(rec.Rounds), rec.Redacted)
		return nil
	})
}

// replayRun drives a run again: one of this folder's, or an exported one, for
// which no folder is needed.
func replayRun(ctx context.Context, s streams, run string, asJSON bool) error {
	rec, err := readExport(s, run)
	if err != nil {
		return err
	}
	if rec == nil {
		if err := withEngine(ctx, s, options{still: true}, func(h *house) (err error) {
			rec, err = h.engine.Record(ctx, run)
			return err
		}); err != nil {
			return err
		}
	}
	out, err := agent.Replay(ctx, rec)
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(s.out, out)
	} else {
		_, err = io.WriteString(s.out, out.Text())
	}
	if err == nil && !out.Identical {
		return exitError(1)
	}
	return err
}

// readExport reads an exported run; nil where the name is no file's.
func readExport(s streams, name string) (*agent.Recording, error) {
	var data []byte
	var err error
	if name == "-" {
		data, err = readInput(s.in)
	} else {
		data, err = os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, filepath.Separator) && filepath.Ext(name) == "" {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the exported run can't be read: %w", err)
	}
	return agent.ReadRecording(data)
}

// secretName is what environment variables that hold secrets are called.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|passphrase|credential|auth|cookie|session|dsn|private|signature`)

// Limits of looking for secrets.
const (
	secretFilesMax = 2000
	secretFileMax  = 64 << 10
	secretWalkMax  = 200_000 // entries
	secretMin      = 6
)

// harmless values are in many files of settings, and in many sentences.
var harmless = map[string]bool{"localhost": true, "production": true, "development": true, "staging": true, "testing": true, "enabled": true, "disabled": true,
	"default": true, "warning": true, "postgres": true, "sqlite": true}

// secrets are what an export must not hold: what the environment's variables
// and the workspace's files of credentials say.
func (h *house) secrets() []string {
	var out []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if _, isPath := strings.CutPrefix(value, "/"); secretName.MatchString(name) && !isPath && len(value) >= secretMin {
			out = append(out, value)
		}
	}
	for _, p := range h.config.Providers {
		if v := os.Getenv(p.KeyEnv); p.KeyEnv != "" && len(v) >= secretMin {
			out = append(out, v)
		}
	}
	files, seen := 0, 0
	_ = filepath.WalkDir(h.space.Roots()[0], func(path string, d fs.DirEntry, err error) error { // what can't be read was read by nobody
		seen++
		switch {
		case seen > secretWalkMax || files > secretFilesMax:
			return fs.SkipAll
		case err != nil:
			return nil
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || !workspace.IsSecret(path):
			return nil
		}
		files++
		out = append(out, secretsIn(path)...)
		return nil
	})
	return out
}

// secretsIn are the values in a file of credentials.
func secretsIn(path string) (out []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, secretFileMax))
	if err != nil {
		return nil
	}
	var v any
	if json.Unmarshal(data, &v) == nil {
		return stringsIn(v)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-----") {
			continue
		}
		value := line
		if i := strings.IndexAny(line, "=:"); i >= 0 {
			value = strings.TrimSpace(line[i+1:])
		}
		value = strings.Trim(value, `"'`)
		if isSecret(value) {
			out = append(out, value)
		}
	}
	return out
}

func stringsIn(v any) (out []string) {
	switch v := v.(type) {
	case string:
		if isSecret(v) {
			out = append(out, v)
		}
	case []any:
		for _, x := range v {
			out = append(out, stringsIn(x)...)
		}
	case map[string]any:
		for _, x := range v {
			out = append(out, stringsIn(x)...)
		}
	}
	return out
}

// isSecret leaves out what says nothing: numbers and words of every settings file.
func isSecret(v string) bool {
	return len(v) >= secretMin && !harmless[strings.ToLower(v)] && strings.Trim(v, "0123456789.") != ""
}
