package mcp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"time"
)

// Limits of servers. What is beyond them is left out, and told.
const (
	ServersMax     = 16        // configured servers
	toolsMax       = 64        // tools of one server
	toolsAllMax    = 192       // tools of all servers; each gets an even share
	pagesMax       = 20        // pages of one listing
	listedMax      = 1000      // tools that are looked at; with as many no further page is asked for
	nameMax        = 64        // bytes of a tool's name, as model providers have it
	rawNameMax     = 256       // bytes of the name by which the server knows it
	descriptionMax = 2 << 10   // bytes of one description
	schemaMax      = 16 << 10  // bytes of one tool's schema
	wordsMax       = 96 << 10  // bytes of all descriptions and schemas of one server
	messageMax     = 16 << 20  // bytes of one message
	unaskedMax     = 64 << 20  // bytes that a server may send between two of our requests
	argsMax        = 1 << 20   // bytes of a call's arguments
	resultMax      = 256 << 10 // bytes of text in one result
	outputMax      = 32 << 10  // bytes of it that go to the model whole
	mediaMax       = 4         // images in one result
	mediaBytesMax  = 5 << 20   // bytes of one image
	callsMax       = 8         // calls to one server at the same time
	stderrMax      = 4 << 10   // bytes of its standard error that are kept
	saysMax        = 300       // bytes of a state's explanation
	leftOutMax     = 8         // things left out that are told one by one
)

// times bound how long things take. Tests shorten them.
type times struct {
	start       time.Duration // until the tools are listed
	call        time.Duration // one call, where the settings don't say
	ping        time.Duration // an answer to "are you there" after a call that took too long
	grace       time.Duration // between closing a server's input and killing it
	backoff     time.Duration // before the first restart; doubled for each further one
	backoffMax  time.Duration
	stable      time.Duration // up for so long, earlier failures are forgotten
	restartsMax int
	relistEvery time.Duration // least time between two listings
}

func defaultTimes() times {
	return times{start: time.Minute, call: 2 * time.Minute, ping: 5 * time.Second, grace: time.Second, backoff: time.Second,
		backoffMax: time.Minute, stable: 5 * time.Minute, restartsMax: 5, relistEvery: 5 * time.Second}
}

// Server is one configured server: a Command that speaks on its standard input
// and output, or a URL that speaks streamable HTTP.
type Server struct {
	Name    string // lower-case letters, digits and single dashes
	Command string
	Args    []string
	Env     map[string]string // variables that are set for it
	PassEnv []string          // variables of ours that it gets although they may hold credentials
	URL     string
	Bearer  string        // a token for URL, "" = none
	Timeout time.Duration // of one call; 0 = two minutes
}

var serverName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const serverNameMax = 24

// Check says what is wrong with the settings of a server.
func (s Server) Check() error {
	switch {
	case len(s.Name) > serverNameMax || !serverName.MatchString(s.Name):
		return fmt.Errorf("the name %q must be lower-case letters, digits and single dashes, at most %d", clip(s.Name, saysMax), serverNameMax)
	case (s.Command == "") == (s.URL == ""):
		return errors.New("give either command or url")
	case s.Timeout < 0:
		return errors.New("timeout must not be negative")
	case s.URL == "":
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return errors.New("url must begin with http:// or https:// and hold no name or password")
	}
	if s.Bearer != "" && u.Scheme == "http" && !loopback(u.Hostname()) {
		return errors.New("a token is not sent over http:// to another machine; use https://")
	}
	return nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
