package host

import (
	"net/http"
	"reflect"
	"slices"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
)

// route is an endpoint. The server and its OpenAPI document are both built from the list of routes.
type route = front.Endpoint[*request]

type param = front.Param

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

var ( //nolint:gochecknoglobals // the parameters of several routes
	conversationParams = []param{{"conversation_id", "string", "default: the run's own"}, {"thread_id", "string", "only one thread of the conversation"}}
	pageParams         = append(slices.Clone(conversationParams), param{"before_cursor", "string", "entries older than this cursor"}, param{"after_cursor", "string", "entries newer than this cursor, oldest first"},
		param{"limit", "integer", "default 50, at most 100"}, param{"direction", "string", "backward (newest first, the default) or forward"})
	ownerParams = append(slices.Clone(conversationParams), param{"owner", "string", "for the admin: the owner of the state, if the scope is not conversation"})
)

func routes() []route {
	return slices.Concat(runRoutes(), readRoutes(), artifactAndStateRoutes(), tapeRoutes())
}

func runRoutes() []route {
	return []route{
		{Method: "POST", Path: "/runs", Summary: "Start a run", Admin: true, Key: true, Code: http.StatusCreated, Body: typeOf[api.RunRequest](), Answer: typeOf[api.RunStarted](), Do: startRun},
		{Method: "GET", Path: "/runs/{run_id}", Summary: "Get a run", Ended: true, Answer: typeOf[api.RunAnswer](), Do: getRun},
		{Method: "POST", Path: "/runs/{run_id}/results", Summary: "Report results, in batches", Ended: true, Ends: true, Body: typeOf[api.ResultsRequest](), Answer: typeOf[api.ResultsAnswer](), Do: postResults},
		{Method: "POST", Path: "/runs/{run_id}/cancel", Summary: "Cancel a run", Ends: true, Answer: typeOf[api.RunAnswer](), Do: cancelRun},
		{Method: "POST", Path: "/runs/{run_id}/heartbeat", Summary: "Extend the token's life", Answer: typeOf[api.RunAnswer](), Do: heartbeat},
		{Method: "POST", Path: "/runs/{run_id}/steering", Summary: "Send a message to a run", Admin: true, Body: typeOf[api.SteerRequest](), Answer: typeOf[api.SteerAnswer](), Do: steer},
		{Method: "POST", Path: "/runs/{run_id}/steering/pull", Summary: "Receive the waiting messages; each is delivered once", Answer: typeOf[api.SteerPulled](), Do: pullSteering},
		{Method: "GET", Path: "/runs/{run_id}/events", Summary: "Follow a run until it ends", Ended: true, Media: "text/event-stream",
			Query: []param{{"after_cursor", "string", "the same as Last-Event-ID"}}, Do: runEvents},
	}
}

func readRoutes() []route {
	types := param{"types", "string", "kinds of entries or names of events, separated by commas"}
	return []route{
		{Method: "GET", Path: "/history", Summary: "Get a page of the transcript", Scope: "history.page", Answer: typeOf[api.Page](), Do: history,
			Query: append(slices.Clone(pageParams), param{"include_attachments", "boolean", "include binary content"})},
		{Method: "GET", Path: "/history/search", Summary: "Search the transcript", Scope: "history.search", Answer: typeOf[api.Hits](), Do: searchHistory,
			Query: append(slices.Clone(conversationParams), param{"q", "string", "words, \"a phrase\", -not, OR, prefix*"}, param{"top_k", "integer", "number of hits: default 10, at most 50"},
				param{"event_types", "string", "kinds of entries or names of events, separated by commas; a run also needs the scope events.read"},
				param{"include_artifacts", "boolean", "if false, neither texts of artifacts nor references to them"},
				param{"filters", "string", searchShape()})},
		{Method: "GET", Path: "/events", Summary: "Get a page of all entries", Scope: "events.read", Answer: typeOf[api.EventPage](), Do: events,
			Query: append(slices.Clone(pageParams), types)},
		{Method: "GET", Path: "/events/stream", Summary: "Follow all entries", Scope: "events.read", Media: "text/event-stream", Do: eventStream,
			Query: append(slices.Clone(conversationParams), types, param{"after_cursor", "string", "the same as Last-Event-ID"})},
		{Method: "GET", Path: "/events/{event_id}", Summary: "Get an entry", Scope: "events.read", Answer: typeOf[api.EventItem](), Do: oneEvent, Query: conversationParams},
		{Method: "GET", Path: "/static/{sha256}", Summary: "Get static content of a run", Answer: typeOf[api.StaticAnswer](), Do: getStatic},
	}
}

func artifactAndStateRoutes() []route {
	return []route{
		{Method: "POST", Path: "/artifacts", Summary: "Store an artifact; the body is its content", Scope: "artifacts.write", Code: http.StatusCreated, Raw: true,
			Answer: typeOf[api.ArtifactAnswer](), Do: addArtifact,
			Query: append(slices.Clone(conversationParams), param{"name", "string", "the file's name"}, param{"expires_at", "string", "when runs can no longer see it"})},
		{Method: "GET", Path: "/artifacts/{artifact_id}", Summary: "Get the metadata of an artifact", Scope: "artifacts.read", Answer: typeOf[api.ArtifactAnswer](), Do: getArtifact, Query: conversationParams},
		{Method: "GET", Path: "/artifacts/{artifact_id}/content", Summary: "Get an artifact's content: all of it, a Range, or, with offset or length, a part as JSON", Scope: "artifacts.read",
			Answer: typeOf[api.ArtifactPart](), Media: "*/*", Do: artifactContent,
			Query: append(slices.Clone(conversationParams), param{"offset", "integer", "where the part begins, in bytes"}, param{"length", "integer", "bytes, at most 1 MiB"})},
		{Method: "GET", Path: "/state/{scope}", Summary: "List the keys and values of a scope", Scope: "state.read", Answer: typeOf[api.StateList](), Do: listState,
			Query: append(slices.Clone(ownerParams), param{"after_cursor", "string", "for the next page"}, param{"limit", "integer", "at most 100"})},
		{Method: "GET", Path: "/state/{scope}/{key}", Summary: "Get a value", Scope: "state.read", Answer: typeOf[api.StateAnswer](), Do: getState, Query: ownerParams},
		{Method: "PUT", Path: "/state/{scope}/{key}", Summary: "Set a value; the body is any JSON", Scope: "state.write", Raw: true, Answer: typeOf[api.StateAnswer](), Do: putState, Query: ownerParams},
		{Method: "DELETE", Path: "/state/{scope}/{key}", Summary: "Remove a value", Scope: "state.write", Answer: typeOf[api.Deleted](), Do: deleteState, Query: ownerParams},
	}
}

func tapeRoutes() []route {
	return []route{
		{Method: "GET", Path: "/tapes", Summary: "List the tapes that the caller may see", Scope: "history.page", Answer: typeOf[api.TapeList](), Do: tapes,
			Query: []param{{"after_cursor", "string", "for the next page"}, {"limit", "integer", "at most 100"}}},
		{Method: "PUT", Path: "/tapes/{tape}", Summary: "Begin a conversation, without a run; one that exists stays as it is", Admin: true, Answer: typeOf[api.Begun](), Do: beginConversation},
		{Method: "GET", Path: "/tapes/{tape}/anchors", Summary: "List the anchors of a tape", Scope: "history.page", Answer: typeOf[api.AnchorList](), Do: anchors},
		{Method: "GET", Path: "/tapes/{tape}/context", Summary: "Get the messages for the next model call", Scope: "history.page", Answer: typeOf[api.ContextAnswer](), Do: tapeContext,
			Query: []param{{"max_tokens", "integer", "default 8000, at most 200000"}}},
		{Method: "POST", Path: "/tapes/{tape}/entries", Summary: "Append entries: all or none", Scope: "append", Key: true, Code: http.StatusCreated, Body: typeOf[api.AppendRequest](), Answer: typeOf[api.Appended](), Do: appendEntries},
		{Method: "POST", Path: "/tapes/{tape}/handoff", Summary: "Hand off: write an anchor, which begins a new phase", Scope: "append", Key: true, Code: http.StatusCreated, Body: typeOf[api.HandoffRequest](), Answer: typeOf[api.HandoffAnswer](), Do: handoff},
		{Method: "POST", Path: "/tapes/{tape}/fork", Summary: "Create a fork", Scope: "fork", Key: true, Code: http.StatusCreated, Body: typeOf[api.ForkRequest](), Answer: typeOf[api.ForkAnswer](), Do: fork},
		{Method: "POST", Path: "/tapes/{tape}/merge", Summary: "Merge a fork into its parent", Scope: "fork", Key: true, Body: typeOf[api.CloseRequest](), Answer: typeOf[api.CloseAnswer](), Do: mergeFork},
		{Method: "POST", Path: "/tapes/{tape}/discard", Summary: "Discard a fork", Scope: "fork", Key: true, Body: typeOf[api.CloseRequest](), Answer: typeOf[api.CloseAnswer](), Do: discardFork},
		{Method: "GET", Path: "/diff", Summary: "Compare two conversations: the entries that they do not share", Scope: "history.page", Answer: typeOf[api.DiffAnswer](), Do: diff,
			Query: []param{{"a", "string", "a conversation"}, {"b", "string", "the other conversation"}}},
		{Method: "GET", Path: "/openapi.json", Summary: "Get this document", Open: true, Answer: typeOf[map[string]any](), Do: func(c *request) (any, error) { return front.OpenAPI(c.s.Version, routes()) }},
		{Method: "GET", Path: "/health", Summary: "Check that the server answers", Open: true, Answer: typeOf[api.Health](), Do: func(c *request) (any, error) { return api.Health{Status: "ok", Version: c.s.Version}, nil }},
	}
}
