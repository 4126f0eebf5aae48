package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tape/internal/text/jsonl"
)

// chatChunk is a chunk of a chat completion with a delta and, if it is the last one, a reason.
func chatChunk(delta, reason string) string {
	if reason != "" {
		reason = `,"finish_reason":"` + reason + `"`
	}
	return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + reason + "}]}\n\n"
}

const chatUsage = `data: {"id":"x","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_tokens_details":{"cached_tokens":64}}}` + "\n\n"

// chatStream is the usual form of a stream: thoughts, text, then the calls that piece makes. Every part of it has its
// own place in real servers, see modelServers.
func chatStream(a scripted, think func(text string) string, piece func(i int, c scriptedCall) string) string {
	out := chatChunk(`{"role":"assistant","content":""}`, "")
	if a.thinking != "" {
		out += think(a.thinking)
	}
	for _, word := range strings.SplitAfter(a.text, " ") {
		if word != "" {
			out += chatChunk(fmt.Sprintf(`{"content":%q}`, word), "")
		}
	}
	for i, c := range a.calls {
		out += piece(i, c)
	}
	return out + chatChunk("{}", a.reason("tool_calls", "stop")) + chatUsage + "data: [DONE]\n\n"
}

// thinksIn makes a delta with thoughts in a field.
func thinksIn(field string) func(text string) string {
	return func(text string) string {
		half := len(text) / 2
		return chatChunk(fmt.Sprintf(`{%q:%q}`, field, text[:half]), "") + chatChunk(fmt.Sprintf(`{%q:%q}`, field, text[half:]), "")
	}
}

// inPieces is OpenAI's own way: the name first, then the arguments.
func inPieces(i int, c scriptedCall) string {
	out := chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"count","arguments":""}}]}`, i, c.id), "")
	for at := 0; at < len(c.arguments); at += 5 {
		out += chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, i, c.arguments[at:min(at+5, len(c.arguments))]), "")
	}
	return out
}

// whole makes a delta with a whole call. more are other members of it.
func whole(index string, c scriptedCall, more string) string {
	return chatChunk(fmt.Sprintf(`{"tool_calls":[{%s"id":%q,"type":"function"%s,"function":{"name":"count","arguments":%q}}]}`, index, c.id, more, c.arguments), "")
}

// wantsBack checks that an answer with calls comes back with what the server wants.
func wantsBack(words string) func(t *testing.T, body []byte, answered bool) {
	return func(t *testing.T, body []byte, answered bool) {
		if last := lastCalls(body); answered && !strings.Contains(string(last), words) && strings.Contains(string(last), `"c0000000`) && !strings.Contains(string(last), "c00000003") {
			t.Errorf("an answer with calls comes back without %s: %s", words, last)
		}
	}
}

func modelServers() map[string]modelServer {
	list := map[string]modelServer{}
	for name, s := range hostedServers() {
		list[name] = s
	}
	for name, s := range localServers() {
		list[name] = s
	}
	return list
}

// hostedServers are the servers of providers, and gateways.
func hostedServers() map[string]modelServer {
	return map[string]modelServer{
		// https://platform.openai.com/docs/api-reference/chat-streaming
		"OpenAI chat": {
			answer: func(a scripted) string { return chatStream(a, thinksIn("reasoning_content"), inPieces) },
			busy:   httpError(429, `{"error":{"message":"Rate limit reached for m","type":"requests","param":null,"code":"rate_limit_exceeded"}}`),
			full:   httpError(400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`),
		},
		"OpenAI responses": openAIResponses(),
		"Anthropic":        anthropicMessages(),
		// https://ai.google.dev/gemini-api/docs/openai and …/thought-signatures: all calls have the index 0, the first
		// one has a signature that must come back; errors are lists
		"Gemini": {
			answer: func(a scripted) string {
				return chatStream(a, func(s string) string {
					return chatChunk(fmt.Sprintf(`{"content":%q}`, "<thought>"+s+"</thought>\n"), "")
				},
					func(i int, c scriptedCall) string {
						signature := ""
						if i == 0 {
							signature = `,"extra_content":{"google":{"thought_signature":"sig-` + c.id + `"}}`
						}
						return whole(`"index":0,`, c, signature)
					})
			},
			refuse: func(body []byte) (int, string) {
				if strings.Contains(string(body), "additionalProperties") {
					return 400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[1].parameters': Cannot find field.","status":"INVALID_ARGUMENT"}}]`
				}
				return 0, ""
			},
			busy:  httpError(503, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`),
			full:  httpError(400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`),
			wants: wantsBack(`"thought_signature":"sig-c0000000`),
		},
		// https://api-docs.deepseek.com/guides/thinking_mode: comments keep the connection alive
		"DeepSeek": {
			answer: func(a scripted) string {
				return ": keep-alive\n\n" + chatStream(a, thinksIn("reasoning_content"), inPieces)
			},
			refuse: func(body []byte) (int, string) {
				if m := lastCalls(body); m != nil && jsonl.Get(m, "reasoning_content") == nil {
					return 400, `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`
				}
				return 0, ""
			},
			busy: streamError(": keep-alive\n\n: keep-alive\n\n"), // and then the connection ends
			full: httpError(400, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (132000 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error"}}`),
		},
		// https://docs.mistral.ai/capabilities/reasoning: thoughts are parts of the content; calls have no index;
		// stream_options is unknown (earendil-works/pi#596); roles must alternate
		"Mistral": {
			answer: func(a scripted) string {
				return chatStream(a, func(s string) string {
					return chatChunk(fmt.Sprintf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":%q}]}]}`, s), "")
				}, func(_ int, c scriptedCall) string { return whole("", c, "") })
			},
			refuse: func(body []byte) (int, string) {
				if jsonl.Get(body, "stream_options") != nil {
					return 422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`
				}
				return 400, mistralOrder(body)
			},
			busy: httpError(429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}`),
			full: httpError(400, `{"object":"error","message":"Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context length","type":"invalid_request_error","code":"3051"}`),
		},
		// https://openrouter.ai/docs/use-cases/reasoning-tokens and …/api/reference/streaming: comments, details of the
		// reasoning in pieces, errors within the stream, causes in metadata.raw
		"OpenRouter": {
			answer: func(a scripted) string {
				return ": OPENROUTER PROCESSING\n\n" + chatStream(a, func(s string) string {
					return chatChunk(fmt.Sprintf(`{"reasoning":%q,"reasoning_details":[{"type":"reasoning.text","text":%q,"index":0,"format":"anthropic-claude-v1"}]}`, s[:2], s[:2]), "") +
						chatChunk(fmt.Sprintf(`{"reasoning":%q,"reasoning_details":[{"type":"reasoning.text","text":%q,"index":0,"format":"anthropic-claude-v1"}]}`, s[2:], s[2:]), "") +
						chatChunk(`{"reasoning_details":[{"type":"reasoning.text","signature":"U0lH","index":0,"format":"anthropic-claude-v1"}]}`, "")
				}, inPieces)
			},
			busy: streamError(": OPENROUTER PROCESSING\n\n" + `data: {"id":"x","object":"chat.completion.chunk","provider":"p","error":{"code":502,"message":"Provider disconnected"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n"),
			full: httpError(400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 205000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`),
			wants: func(t *testing.T, body []byte, answered bool) {
				for d := range jsonl.Elements(jsonl.Get(lastCalls(body), "reasoning_details")) {
					if text := jsonl.GetString(d, "text"); jsonl.GetString(d, "signature") != "U0lH" || !strings.HasSuffix(text, ".") {
						t.Errorf("a detail comes back as %s", d)
					}
				}
				wantsBack(`"reasoning_details":[{`)(t, body, answered)
			},
		},
		// aws-samples/bedrock-access-gateway: errors as {"detail"}, blank texts are refused (OpenHands/OpenHands#5722)
		"Bedrock's gateway": {
			answer: func(a scripted) string { return chatStream(a, thinksIn("reasoning_content"), inPieces) },
			refuse: func(body []byte) (int, string) {
				for m := range jsonl.Elements(jsonl.Get(body, "messages")) {
					if text, ok := jsonl.String(jsonl.Get(m, "content")); ok && text == "" {
						return 400, `{"detail":"An error occurred (ValidationException) when calling the ConverseStream operation: The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text field, and try again."}`
					}
				}
				return 0, ""
			},
			busy: httpError(429, `{"detail":"An error occurred (ThrottlingException) when calling the ConverseStream operation: Too many requests, please wait before trying again."}`),
			full: httpError(400, `{"detail":"An error occurred (ValidationException) when calling the ConverseStream operation: Input is too long for requested model."}`),
		},
	}
}

// mistralOrder refuses messages as Mistral's templates do; "" if they are in order.
func mistralOrder(body []byte) string {
	want, before := "user", ""
	for m := range jsonl.Elements(jsonl.Get(body, "messages")) {
		role := jsonl.GetString(m, "role")
		if role == "user" && before == "tool" {
			return `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","param":null,"code":"3230"}`
		}
		for c := range jsonl.Elements(jsonl.Get(m, "tool_calls")) {
			if len(jsonl.GetString(c, "id")) != 9 {
				return `{"object":"error","message":"Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`
			}
		}
		before = role
		if role == "system" || role == "tool" || jsonl.Get(m, "tool_calls") != nil {
			continue
		}
		if role != want {
			return `{"object":"error","message":"After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.","type":"BadRequestError","code":400}`
		}
		want = map[string]string{"user": "assistant", "assistant": "user"}[role]
	}
	return ""
}

// localServers are programs that people run themselves.
func localServers() map[string]modelServer {
	return map[string]modelServer{
		// ollama/ollama#15457: every call has the index 0 and comes whole; thoughts are in reasoning
		"Ollama": {
			answer: func(a scripted) string {
				return chatStream(a, thinksIn("reasoning"), func(_ int, c scriptedCall) string { return whole(`"index":0,`, c, "") })
			},
			busy: httpError(503, `{"error":{"message":"server busy, please try again. maximum pending requests exceeded","type":"api_error","param":null,"code":null}}`),
			full: httpError(400, `{"error":{"message":"prompt too long; exceeded max context length by 9 tokens","type":"invalid_request_error","param":null,"code":null}}`),
		},
		// https://docs.vllm.ai (OpenAI-compatible server), with a template in which roles alternate; the id of a call
		// differs in each piece (poolsideai/pool#9)
		"vLLM": {
			answer: func(a scripted) string {
				return chatStream(a, thinksIn("reasoning"), func(i int, c scriptedCall) string {
					return chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"count"}}]}`, i, c.id), "") +
						chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"other","function":{"arguments":%q}}]}`, i, c.arguments[:7]), "") +
						chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]}`, i, c.arguments[7:]), "")
				})
			},
			refuse: func(body []byte) (int, string) { return 400, mistralOrder(body) },
			busy:   httpError(500, `{"object":"error","message":"EngineCore encountered an issue. See stack trace for the root cause.","type":"InternalServerError","param":null,"code":500}`),
			full:   httpError(400, `{"error":{"message":"This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","param":"input_tokens","code":400}}`),
		},
		// ggml-org/llama.cpp, tools/server: errors in a stream have a field of their own; templates fail with HTTP 500
		"llama.cpp": {
			answer: func(a scripted) string { return chatStream(a, thinksIn("reasoning_content"), inPieces) },
			refuse: func(body []byte) (int, string) {
				if text := mistralOrder(body); strings.Contains(text, "alternate") {
					return 500, `{"error":{"code":500,"message":"Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...","type":"server_error"}}`
				}
				return 0, ""
			},
			busy: streamError("error: {\"code\":500,\"message\":\"Failed to decode\",\"type\":\"server_error\"}\n\n"),
			full: httpError(400, `{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`),
		},
		// https://lmstudio.ai/docs: thoughts in tags, a name in each piece, errors that are a text, or an event
		"LM Studio": {
			answer: func(a scripted) string {
				return chatStream(a, func(s string) string {
					return chatChunk(`{"content":"<thi"}`, "") + chatChunk(fmt.Sprintf(`{"content":"nk>%s</think>\n\n"}`, s), "")
				}, func(i int, c scriptedCall) string {
					return chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"count","arguments":%q}}]}`, i, c.id, c.arguments[:3]), "") +
						chatChunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"count","arguments":%q}}]}`, i, c.id, c.arguments[3:]), "")
				})
			},
			wants: wantsBack("<think>\\n"),
			busy:  streamError("event: error\ndata: {\"error\":{\"message\":\"The model has crashed without additional information. Try again.\"}}\n\n"),
			full:  httpError(400, `{"error":"Trying to keep the first 5857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`),
		},
	}
}

// https://platform.openai.com/docs/api-reference/responses-streaming
func openAIResponses() modelServer {
	event := func(kind, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	return modelServer{api: "responses",
		answer: func(a scripted) string {
			out, index := event("response.created", `,"response":{"id":"r","status":"in_progress"}`), 0
			if a.thinking != "" {
				out += event("response.output_item.added", `,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}`) +
					event("response.reasoning_summary_text.delta", fmt.Sprintf(`,"output_index":0,"delta":%q`, a.thinking)) +
					event("response.output_item.done", fmt.Sprintf(`,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":%q}],"encrypted_content":"ENC"}`, a.thinking))
				index++
			}
			if a.text != "" {
				out += event("response.output_text.delta", fmt.Sprintf(`,"output_index":%d,"delta":%q`, index, a.text)) +
					event("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}`, index, a.text))
				index++
			}
			for _, c := range a.calls {
				out += event("response.output_item.added", fmt.Sprintf(`,"output_index":%d,"item":{"type":"function_call","id":"fc","call_id":%q,"name":"count","arguments":""}`, index, c.id)) +
					event("response.function_call_arguments.delta", fmt.Sprintf(`,"output_index":%d,"delta":%q`, index, c.arguments)) +
					event("response.output_item.done", fmt.Sprintf(`,"output_index":%d,"item":{"type":"function_call","id":"fc","call_id":%q,"name":"count","arguments":%q}`, index, c.id, c.arguments))
				index++
			}
			return out + event("response.completed", `,"response":{"id":"r","status":"completed","error":null,"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":9}}`)
		},
		busy: streamError(event("response.created", "") + event("response.failed", `,"response":{"status":"failed","error":{"code":"server_error","message":"The server had an error while processing your request."}}`)),
		full: streamError(event("error", `,"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."`)),
		wants: func(t *testing.T, body []byte, answered bool) {
			calls, reasoning := strings.Count(string(body), `"type":"function_call"`), strings.Count(string(body), `"encrypted_content":"ENC"`)
			if answered && (calls == 0 || reasoning == 0) || strings.Contains(string(body), `"tool_calls"`) {
				t.Errorf("%d calls and %d reasoning items come back: %s", calls, reasoning, body)
			}
		},
	}
}

// https://docs.anthropic.com/en/api/messages-streaming and …/extended-thinking
func anthropicMessages() modelServer {
	event := func(kind, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	const start = `,"message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":1}}`
	return modelServer{api: "messages",
		answer: func(a scripted) string {
			out, index := event("message_start", start)+event("ping", ""), 0
			block := func(start string, deltas ...string) {
				out += event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, start))
				for _, d := range deltas {
					out += event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, index, d))
				}
				out += event("content_block_stop", fmt.Sprintf(`,"index":%d`, index))
				index++
			}
			if a.thinking != "" {
				block(`{"type":"thinking","thinking":"","signature":""}`, fmt.Sprintf(`{"type":"thinking_delta","thinking":%q}`, a.thinking), `{"type":"signature_delta","signature":"U0lH"}`)
			}
			if a.text != "" {
				block(`{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, a.text))
			}
			for _, c := range a.calls {
				block(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"count","input":{}}`, c.id), fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, c.arguments[:4]), fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, c.arguments[4:]))
			}
			return out + event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":9}`, a.reason("tool_use", "end_turn"))) + event("message_stop", "")
		},
		busy: streamError(event("message_start", start) + event("error", `,"error":{"type":"overloaded_error","message":"Overloaded"}`)),
		full: httpError(http.StatusBadRequest, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`),
		wants: func(t *testing.T, body []byte, answered bool) {
			var r struct {
				Messages []struct {
					Role    string
					Content []struct{ Type, Signature, Thinking string }
				}
			}
			if err := json.Unmarshal(body, &r); err != nil {
				t.Error(err)
			}
			signed := 0
			for _, m := range r.Messages {
				if m.Role == "assistant" && m.Content[0].Type == "thinking" && m.Content[0].Signature == "U0lH" && m.Content[0].Thinking != "" {
					signed++
				}
			}
			if n := strings.Count(string(body), `"cache_control"`); answered && signed == 0 || n < 3 || n > 4 {
				t.Errorf("%d signed thoughts come back, %d marks for the cache: %s", signed, n, body)
			}
		},
	}
}
