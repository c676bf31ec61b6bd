package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServesUntilItsInputEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txtar"), []byte("-- 0 --\nMy own words.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdin, stopIt := io.Pipe()
	said, stdout := io.Pipe()
	ended := make(chan error)
	go func() { ended <- run(dir, 4096, stdin, stdout) }()
	var where struct{ BaseURL, Model string }
	if err := json.NewDecoder(said).Decode(&where); err != nil {
		t.Fatal(err)
	}
	ask := `{"model":"` + where.Model + `","messages":[{"role":"user","content":"[[script:mine]]"}]}`
	res, err := http.Post(where.BaseURL+"/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "My own words.") {
		t.Errorf("%s, %v: %s", res.Status, err, body)
	}
	stopIt.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(where.BaseURL + "/models"); err == nil {
		t.Error("it still serves")
	}
}
