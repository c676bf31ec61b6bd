package agent

import "errors"

// Code names what kind of failure an Error is. The names are contract: they go
// out as data.code of every JSON-RPC error.
type Code string

// The codes.
const (
	CodeNotFound         Code = "not_found"
	CodeInvalidState     Code = "invalid_state"
	CodeBadRequest       Code = "bad_request"
	CodeNoModel          Code = "no_model"
	CodeBudgetOverflow   Code = "budget_overflow"
	CodePermissionDenied Code = "permission_denied"
	CodeIndexUnavailable Code = "index_unavailable"
	CodeStoreUnavailable Code = "store_unavailable"
	CodeDuplicate        Code = "duplicate"
	CodeModelFailed      Code = "model_failed"
	CodeUnsupported      Code = "unsupported"
)

// Error is every failure that a client is told: what happened, and what to do.
type Error struct {
	Code      Code
	Message   string
	Hint      string
	Retriable bool
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// ErrGone is returned by a Client that went away before it answered.
var ErrGone = errors.New("the client has gone")

// ErrUnsupported is returned by a Client for what it can't do.
var ErrUnsupported = errors.New("the client can't do this")

// missing refuses a request without a field that it needs.
func missing(field string) error {
	return &Error{Code: CodeBadRequest, Message: "field " + field + " is missing"}
}

// isCode tells whether err is an Error of that code.
func isCode(err error, c Code) bool {
	var e *Error
	return asError(err, &e) && e.Code == c
}

func asError(err error, into **Error) bool { return errors.As(err, into) }
