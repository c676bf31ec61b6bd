package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is what the proxy does to one model request. The zero value does
// nothing. Events are server-sent events, counted from 1 on.
type Fault struct {
	Status     int    // answer with this status instead of asking the server
	RetryAfter string // its Retry-After header
	Body       string // its body; "" = what the provider of that path would send

	End   End // how the stream ends early
	After int // after so many events; 0 = before the response's headers

	Ping  int           // a keep-alive comment (Anthropic: ping event) after every so many events
	Bytes int           // write at most so many bytes at once
	Delay time.Duration // wait before each event: a slow model
}

// End is a way to end a stream before its time.
type End string

// The ways.
const (
	Cut        End = "cut"   // the connection is reset
	EOF        End = "eof"   // the body ends cleanly
	ErrorEvent End = "error" // an error event, then the body ends cleanly
	Stall      End = "stall" // silence until the client goes away
)

// RateLimit is a 429 with a Retry-After of so many seconds.
func RateLimit(seconds int) Fault {
	return Fault{Status: http.StatusTooManyRequests, RetryAfter: strconv.Itoa(seconds)}
}

// Overload is Anthropic's 529.
func Overload() Fault { return Fault{Status: statusOverloaded} }

const statusOverloaded = 529

// ParseFault reads the textual form: parts joined by "+", each
//
//	STATUS[:RETRY-AFTER]   429:7, 529, 401
//	cut:N eof:N error:N stall:N
//	ping:N bytes:N delay:20ms
func ParseFault(text string) (Fault, error) {
	var f Fault
	for part := range strings.SplitSeq(strings.TrimSpace(text), "+") {
		kind, arg, _ := strings.Cut(part, ":")
		if status, err := strconv.Atoi(kind); err == nil && status >= 400 && status <= 599 {
			f.Status, f.RetryAfter = status, arg
			continue
		}
		var err error
		switch kind {
		case "":
		case "delay":
			f.Delay, err = time.ParseDuration(arg)
		case "ping":
			f.Ping, err = strconv.Atoi(arg)
		case "bytes":
			f.Bytes, err = strconv.Atoi(arg)
		case string(Cut), string(EOF), string(ErrorEvent), string(Stall):
			f.End = End(kind)
			f.After, err = strconv.Atoi(arg)
		default:
			err = fmt.Errorf("no such fault")
		}
		if err != nil || f.After < 0 || f.Ping < 0 || f.Bytes < 0 || f.Delay < 0 {
			return Fault{}, fmt.Errorf("fault %q: %w", part, errOr(err, "a negative number"))
		}
	}
	return f, nil
}

func errOr(err error, otherwise string) error {
	if err == nil {
		return fmt.Errorf("%s", otherwise)
	}
	return err
}

// body is what the provider whose API has this path sends with a status.
func (f Fault) body(path string) string {
	switch {
	case f.Body != "":
		return f.Body
	case speaksAnthropic(path):
		kind, message := "api_error", "Internal server error"
		switch f.Status {
		case http.StatusUnauthorized:
			kind, message = "authentication_error", "invalid x-api-key"
		case http.StatusForbidden:
			kind, message = "permission_error", "Your API key does not have permission to use the specified resource."
		case http.StatusRequestEntityTooLarge:
			kind, message = "request_too_large", "Request exceeds the maximum allowed number of bytes."
		case http.StatusNotFound:
			kind, message = "not_found_error", "model: no-such-model"
		case http.StatusTooManyRequests:
			kind, message = "rate_limit_error", "This request would exceed your organization's rate limit"
		case statusOverloaded:
			kind, message = "overloaded_error", "Overloaded"
		}
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_011"}`, kind, message)
	}
	kind, code, message := "server_error", "null", "The server had an error while processing your request"
	switch f.Status {
	case http.StatusUnauthorized:
		kind, code, message = "invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided."
	case http.StatusForbidden:
		kind, code, message = "invalid_request_error", `"unsupported_country_region_territory"`, "Country, region, or territory not supported"
	case http.StatusRequestEntityTooLarge:
		kind, code, message = "invalid_request_error", "null", "Request body too large."
	case http.StatusNotFound:
		kind, code, message = "invalid_request_error", `"model_not_found"`, "The model does not exist or you do not have access to it."
	case http.StatusTooManyRequests:
		kind, code, message = "tokens", `"rate_limit_exceeded"`, "Rate limit reached on tokens per min. Please try again later."
	case http.StatusServiceUnavailable, statusOverloaded:
		message = "The server is currently overloaded with other requests."
	}
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%s}}`, message, kind, code)
}

func errorEvent(path string) string {
	if speaksAnthropic(path) {
		return "event: error\ndata: {\"type\": \"error\", \"error\": {\"type\": \"overloaded_error\", \"message\": \"Overloaded\"}}\n\n"
	}
	return "data: {\"error\":{\"message\":\"The server had an error while processing your request\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n"
}

func pingEvent(path string) string {
	if speaksAnthropic(path) {
		return "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	}
	return ": keep-alive\n\n"
}

func speaksAnthropic(path string) bool { return strings.HasSuffix(path, "/messages") }
