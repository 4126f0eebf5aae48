package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"tape/internal/serve/host/api"
	"tape/repo"
)

// Each error has its status and code, and hides what only the server should know.
func TestProblemOf(t *testing.T) {
	for code, c := range map[string]struct {
		err    error
		status int
		again  bool
	}{
		"not_found":         {repo.ErrNotFound, http.StatusNotFound, false},
		"invalid_argument":  {repo.ErrInvalid, http.StatusUnprocessableEntity, false},
		"conflict":          {repo.ErrConflict, http.StatusConflict, false},
		"busy":              {repo.ErrBusy, http.StatusServiceUnavailable, true},
		"damaged":           {&repo.CorruptError{File: "/home/somebody/x", Msg: "torn"}, http.StatusInternalServerError, false},
		"storage_full":      {syscall.ENOSPC, http.StatusInsufficientStorage, true},
		"payload_too_large": {&http.MaxBytesError{Limit: 5}, http.StatusRequestEntityTooLarge, false},
		"unauthorized":      {api.Unauthorized("no"), http.StatusUnauthorized, false},
		"internal":          {errors.New("/home/somebody/x is in the way"), http.StatusInternalServerError, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while writing: %w", c.err)} {
			p := api.ProblemOf(err)
			if p.Code != code || p.Status != c.status || p.Retryable != c.again || (p.After > 0) != c.again || p.Message == "" {
				t.Errorf("%v is %+v, want %s with status %d, retryable %v", err, p, code, c.status, c.again)
			}
			if strings.Contains(p.Message, "somebody") {
				t.Errorf("the message shows a path of the server: %q", p.Message)
			}
		}
	}
}

// A conversation is a name, or an object that has one.
func TestConversation(t *testing.T) {
	for text, want := range map[string]string{
		`"c"`: "c", `{"conversation_id":"telegram/1","title":"x"}`: "telegram/1", `{"conversation_id":""}`: "",
		`{}`: "!", `{"id":"c"}`: "!", `{"conversation_id":7}`: "!", `7`: "!",
	} {
		var c api.Conversation
		if err := json.Unmarshal([]byte(text), &c); (err != nil) != (want == "!") || err == nil && string(c) != want {
			t.Errorf("%s is %q (%v), want %q, where ! is an error", text, c, err, want)
		}
	}
}
