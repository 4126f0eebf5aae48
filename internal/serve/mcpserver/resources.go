package mcpserver

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

const scheme = "tape://"

func (s *server) addResources(out *mcp.Server) {
	for _, t := range []mcp.ResourceTemplate{
		{URITemplate: scheme + "{tape}", Name: "tape", Description: "Overview of a tape"},
		{URITemplate: scheme + "{tape}/anchors/{n}", Name: "anchor", Description: "Anchor N of a tape and the entries after it"},
		{URITemplate: scheme + "{tape}/entries/{id}", Name: "entry", Description: "An entry of a tape"},
	} {
		t.MIMEType = "text/plain"
		out.AddResourceTemplate(&t, s.readResource)
	}
	// Tapes are listed at each request, since they come and go.
	out.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "resources/list" {
				return next(ctx, method, req)
			}
			res, err := next(ctx, method, req)
			if out, ok := res.(*mcp.ListResourcesResult); ok && err == nil {
				out.Resources, err = s.listResources(ctx)
			}
			return res, err
		}
	})
}

// listResources lists at most 100 tapes. Without a workspace there are none.
func (s *server) listResources(ctx context.Context) ([]*mcp.Resource, error) {
	out := []*mcp.Resource{}
	store, err := s.Open(ctx)
	if err != nil {
		return out, nil //nolint:nilerr // the tools report the error
	}
	tapes, err := store.Tapes(ctx)
	const most = 100
	for _, t := range tapes[:min(len(tapes), most)] {
		out = append(out, &mcp.Resource{URI: scheme + url.PathEscape(t.Name()), Name: line(t.Name(), 200), MIMEType: "text/plain"})
	}
	return out, err
}

func (s *server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	text, err := s.resource(ctx, strings.Split(strings.TrimPrefix(req.Params.URI, scheme), "/"))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.errorText(err)}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: clip(text, maxChars)}}}, nil
}

// resource returns the text of a path: TAPE, TAPE/anchors/N or TAPE/entries/ID.
func (s *server) resource(ctx context.Context, path []string) (string, error) {
	name, err := url.PathUnescape(path[0])
	if err != nil || name == "" {
		return "", layout.Invalid("", "%q is not the name of a tape", path[0])
	}
	store, t, err := s.open(ctx, name)
	if err != nil {
		return "", err
	}
	switch {
	case len(path) == 1:
		return infoOf(ctx, store, t)
	case len(path) == 3 && path[1] == "anchors":
		return anchorResource(ctx, t, path[2])
	case len(path) == 3 && path[1] == "entries":
		return entryResource(ctx, t, path[2])
	}
	return "", layout.Invalid("", "a tape has no resource %q", strings.Join(path[1:], "/"))
}

func anchorResource(ctx context.Context, t *repo.Tape, n string) (string, error) {
	n, err := url.PathUnescape(n)
	if err != nil {
		return "", layout.Invalid("", "%q is not an anchor", n)
	}
	if seq, err := strconv.Atoi(n); err == nil {
		n = fmt.Sprintf("%03d", seq)
	}
	out := newAnswer(maxChars, "tape %s, phase of anchor %s", line(t.Name(), 100), line(n, 100))
	for e, err := range t.Entries(ctx, repo.Query{Phase: n}) {
		if err != nil {
			return "", err
		}
		text, err := entryText(ctx, t, e, 2_000)
		if err != nil {
			return "", err
		}
		if !out.add(text) {
			out.end("there is more: tape_read from=@%d", e.ID)
			break
		}
	}
	return out.String(), nil
}

func entryResource(ctx context.Context, t *repo.Tape, id string) (string, error) {
	for e, err := range t.Show(ctx, "@"+strings.TrimPrefix(id, "@")) {
		if err != nil {
			return "", err
		}
		out := newAnswer(maxChars, "tape %s", line(t.Name(), 100))
		text, err := entryText(ctx, t, e, maxChars-5*cutNote)
		out.add(text)
		return out.String(), err
	}
	return "", layout.NotFound("", "there is no entry %q", id)
}

// complete completes names of tapes.
func (s *server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	out := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	if req.Params.Argument.Name != "tape" {
		return out, nil
	}
	store, err := s.Open(ctx)
	if err != nil {
		return out, nil //nolint:nilerr // without a workspace there is nothing to offer
	}
	all, err := catalog.All(ctx, store)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(catalog.Names(all), func(name string) bool {
		return !strings.HasPrefix(name, req.Params.Argument.Value) || display.Line(name) != name
	})
	const most = 100 // the limit of the protocol
	out.Completion.Total, out.Completion.HasMore = len(names), len(names) > most
	out.Completion.Values = append(out.Completion.Values, names[:min(len(names), most)]...)
	return out, nil
}
