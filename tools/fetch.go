package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

//go:embed fetch.md
var fetchWords string

// Limits of one fetch.
const (
	fetchTimeout      = 30 * time.Second
	fetchBodyMax      = 4 << 20
	fetchURLMax       = 4096
	fetchRedirectsMax = 5
)

// FetchOptions say what may be reached.
type FetchOptions struct {
	// Private permits addresses of this machine and its local networks, which
	// otherwise no page and no model can make us ask.
	Private bool
}

type fetchIn struct {
	URL string `json:"url" jsonschema:"http or https address"`
}

// Fetch gets a page as text. It needs permission for the host.
func Fetch(o FetchOptions) Tool {
	client := fetchClient(o)
	return Typed(Spec{
		Name: "fetch", Description: fetchWords, Category: CategoryWeb, Timeout: fetchTimeout, OutputMax: 64 << 10,
	}, func(in fetchIn) string { return in.URL }, func(ctx context.Context, _ Env, in fetchIn) Result {
		return runFetch(ctx, client, in.URL)
	})
}

// errElsewhere stops at a redirect to another host: permission was for one.
var errElsewhere = errors.New("it redirects to another host")

func fetchClient(o FetchOptions) *http.Client {
	dialer := &net.Dialer{Timeout: fetchTimeout}
	if !o.Private {
		// Judged when the connection is made, so that no name can be made to
		// mean something else in between.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if !public(at.Addr()) {
				return fmt.Errorf("%s is an address of this machine or a local network", at.Addr())
			}
			return nil
		}
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme && req.URL.Scheme != "https" {
				return errElsewhere
			}
			if len(via) > fetchRedirectsMax {
				return fmt.Errorf("more than %d redirects", fetchRedirectsMax)
			}
			return nil
		},
	}
}

// public says that an address is the internet's.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range []string{"100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "2002::/16", "2001::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return false
		}
	}
	return true
}

// fetchURL checks an address before anybody is asked for it.
func fetchURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case len(s) > fetchURLMax:
		return nil, fmt.Errorf("the address is longer than %d bytes", fetchURLMax)
	case err != nil:
		return nil, errors.New("that is no address")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the address must begin with http:// or https://")
	case u.User != nil:
		return nil, errors.New("the address must not hold a name or password")
	}
	return u, nil
}

func runFetch(ctx context.Context, client *http.Client, address string) Result {
	u, err := fetchURL(address)
	if err != nil {
		return Fail("fetch: "+err.Error(), "bad arguments")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Fail("fetch: "+err.Error(), "bad arguments")
	}
	req.Header.Set("User-Agent", "agent-lsp")
	req.Header.Set("Accept", "text/html,text/plain,application/json,*/*;q=0.5")
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return cancelled()
		}
		var target *url.Error
		if errors.Is(err, errElsewhere) && errors.As(err, &target) {
			return Fail("fetch: it redirects to "+clip(target.URL, fetchURLMax)+"; fetch that, if it is meant", "redirected")
		}
		return Fail("fetch: "+clip(err.Error(), 500), "failed")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, fetchBodyMax+1))
	if err != nil {
		return failErr("fetch", err)
	}
	return fetchResult(u, resp, body)
}

func fetchResult(u *url.URL, resp *http.Response, body []byte) Result {
	cut := len(body) > fetchBodyMax
	body = body[:min(len(body), fetchBodyMax)]
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "" {
		kind = http.DetectContentType(body)
	}
	readable := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml") || strings.HasSuffix(kind, "javascript")
	if !readable || isBinary(body) {
		return Fail(fmt.Sprintf("fetch: %s is %s (%s), which isn't text", u, oneLine(kind, 80), size(int64(len(body)))), "not text")
	}
	text, _ := decodeText(body)
	if strings.Contains(kind, "html") {
		text = htmlText(text)
	}
	d := Detail{Summary: fmt.Sprintf("%d, %s", resp.StatusCode, size(int64(len(body)))), Truncated: cut}
	head := fmt.Sprintf("[%s: %d %s]\n", u, resp.StatusCode, http.StatusText(resp.StatusCode))
	if cut {
		text += fmt.Sprintf("\n[cut after %s]\n", size(fetchBodyMax))
	}
	status := StatusOK
	if resp.StatusCode >= http.StatusBadRequest {
		status = StatusError
	}
	return Result{Status: status, Text: head + text, Detail: d}
}
