package models

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestList: servers list their models in the same form, but name the size of the context differently.
func TestList(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, call int) {
		switch call {
		case 1:
			_, _ = io.WriteString(w, `{"data":[{"id":"b","max_model_len":4096},{"id":"a","meta":{"n_ctx_train":32768}},{"id":""}]}`)
		case 2:
			_, _ = io.WriteString(w, `{"data":[{"id":"claude-x","display_name":"Claude X","max_input_tokens":200000}]}`)
		case 3:
			w.WriteHeader(http.StatusUnauthorized)
		case 5:
			_, _ = io.WriteString(w, `[{"id":"c","context_length":"8192","display_name":{},"meta":[]},{"id":7},5]`)
		case 6:
			_, _ = io.WriteString(w, `{"models":[{"name":"d","context_window":4e3}]}`)
		case 7:
			_, _ = io.WriteString(w, `{"data":null}`)
		default:
			_, _ = io.WriteString(w, `<html>`)
		}
	})
	c := client(t, s, nil, Config{})
	got, err := c.List(t.Context(), "openai")
	if err != nil || len(got) != 2 || got[0].ID != "openai:a" || got[0].Window != 32768 || got[1].Window != 4096 || s.header.Get("Authorization") != "Bearer sk-openai-12345" {
		t.Errorf("openai: %+v, %v, the key %q", got, err, s.header.Get("Authorization"))
	}
	got, err = c.List(t.Context(), "anthropic")
	if err != nil || len(got) != 1 || got[0].Label != "Claude X" || got[0].Window != 200000 || s.header.Get("x-api-key") != "sk-ant-12345" {
		t.Errorf("anthropic: %+v, %v, the key %q", got, err, s.header.Get("x-api-key"))
	}
	for _, want := range []string{"refuses the key", "list of models"} {
		if _, err := c.List(t.Context(), "openai"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for i, want := range []string{"[{openai:c openai:c 8192}]", "[{openai:d openai:d 4000}]", "[]"} {
		if got, err := c.List(t.Context(), "openai"); err != nil || fmt.Sprint(got) != want {
			t.Errorf("list %d: %v, %v, want %s", i, got, err, want)
		}
	}
}
