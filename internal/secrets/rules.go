package secrets

// The rules that are more than shapes.
const (
	rulePrivateKey  = "private-key"
	ruleJWT         = "jwt"
	ruleURLPassword = "url-password"
	ruleBasicAuth   = "basic-auth"
	ruleBearer      = "bearer-token"
	rulePassword    = "password-assignment"
	ruleCommand     = "command-password"
	ruleNetrc       = "netrc-password"
	ruleAssigned    = "secret-assignment"
	ruleEntropy     = "high-entropy"
	ruleAWSSecret   = "aws-secret-key"
	ruleAzureClient = "azure-client-secret"
	ruleAzureKey    = "azure-key"
	ruleDiscord     = "discord-token"
	ruleMailchimp   = "mailchimp-key"
	ruleTelegram    = "telegram-token"
	ruleTerraform   = "terraform-token"
)

// ruleShapes is a rule with the shapes that it knows.
type ruleShapes struct {
	Rule
	shapes []string
}

// table is all rules. Prefixes, lengths and alphabets are those that the providers document
// or that the public rule sets agree on; where providers have changed a length, the shape
// takes the lengths between.
func table() []ruleShapes {
	return append(append(platformRules(), serviceRules()...), []ruleShapes{
		{Rule{rulePrivateKey, "Private key (PEM, OpenSSH, PGP)"}, nil},
		{Rule{ruleJWT, "JSON Web Token"}, nil},
		{Rule{ruleURLPassword, "Password in a URL or connection string"}, nil},
		{Rule{ruleBasicAuth, "HTTP Basic credentials, also as docker and npm store them"}, nil},
		{Rule{ruleBearer, "HTTP bearer token"}, nil},
		{Rule{rulePassword, "Assigned password"}, nil},
		{Rule{ruleCommand, "Password that a command is given (curl, sshpass)"}, nil},
		{Rule{ruleNetrc, "Password in a netrc file"}, nil},
		{Rule{ruleAssigned, "Assigned secret, token or key"}, nil},
		{Rule{ruleEntropy, "Random string that the text calls a secret"}, nil},
	}...)
}

// Rules returns all rules, always in the same order.
func Rules() []Rule {
	var out []Rule
	for _, r := range table() {
		out = append(out, r.Rule)
	}
	return out
}

// platformRules are those of clouds, git hosts and model providers.
func platformRules() []ruleShapes {
	return []ruleShapes{
		{Rule{"aws-access-key", "AWS access key id"}, []string{"AKIA{U16}", "ASIA{U16}", "ABIA{U16}", "ACCA{U16}"}},
		{Rule{ruleAWSSecret, "AWS secret access key"}, nil},
		{Rule{"aws-bedrock-key", "Amazon Bedrock API key"}, []string{"ABSK{z80-300}", "bedrock-api-key-{z40-2000}"}},
		{Rule{"google-api-key", "Google API key"}, []string{"AIza{w35}"}},
		{Rule{"google-oauth", "Google OAuth client secret or token"}, []string{"GOCSPX-{w24-32}", "ya29.{j30-2000}", "1//0{w40-200}"}},
		{Rule{ruleAzureKey, "Azure account, shared access or signature key"},
			[]string{"AccountKey={b86}==", "SharedAccessKey={b43}=", "AzCa{z40-90}"}},
		{Rule{ruleAzureClient, "Azure client secret"}, nil},
		{Rule{"alibaba-key", "Alibaba Cloud access key id"}, []string{"LTAI{a17-24}"}},
		{Rule{"tencent-key", "Tencent Cloud secret id"}, []string{"AKID{a32}"}},
		{Rule{"digitalocean-token", "DigitalOcean token"}, []string{"dop_v1_{x64}", "doo_v1_{x64}", "dor_v1_{x64}"}},
		{Rule{"cloudflare-key", "Cloudflare origin CA key"}, []string{"v1.0-{x24}-{x146}"}},
		{Rule{"heroku-key", "Heroku API key"}, []string{"HRKU-{w36-70}"}},
		{Rule{"fly-token", "Fly.io token"}, []string{"fo1_{w43}", "fm2_{z100-1000}", "fm1r_{z100-1000}", "fm1a_{z100-1000}"}},
		{Rule{"github-token", "GitHub token"},
			[]string{"ghp_{a36-255}", "gho_{a36-255}", "ghu_{a36-255}", "ghs_{a36-255}", "ghr_{a36-255}", "github_pat_{_60-255}"}},
		{Rule{"gitlab-token", "GitLab token"}, []string{"glpat-{j20-300}", "gldt-{w20-64}", "glrt-{j20-300}", "glrtr-{j20-300}", "glcbt-{w20-300}",
			"glptt-{x40}", "glft-{w20-64}", "glimt-{w25}", "glagent-{w50}", "gloas-{w64}", "glsoat-{w20-64}", "glffct-{w20-64}", "GR1348941{w20}"}},
		{Rule{"bitbucket-token", "Bitbucket app password or access token"}, []string{"ATBB{a28-40}", "ATCTT3xFfG{z60-400}"}},
		{Rule{"atlassian-token", "Atlassian API token"}, []string{"ATATT3xFfG{z60-400}", "ATSTT3xFfG{z60-400}"}},
		{Rule{"anthropic-key", "Anthropic key"}, []string{"sk-ant-{w32-300}"}},
		{Rule{"openai-key", "OpenAI key, or one of a provider with the same form"},
			[]string{"sk-proj-{w24-300}", "sk-svcacct-{w24-300}", "sk-admin-{w24-300}", "sk-{a32-64}"}},
		{Rule{"openrouter-key", "OpenRouter key"}, []string{"sk-or-v1-{x64}"}},
		{Rule{"huggingface-token", "Hugging Face token"}, []string{"hf_{a34-40}", "api_org_{a34}"}},
		{Rule{"groq-key", "Groq key"}, []string{"gsk_{a40-60}"}},
		{Rule{"xai-key", "xAI key"}, []string{"xai-{a70-100}"}},
		{Rule{"replicate-token", "Replicate token"}, []string{"r8_{a37-40}"}},
		{Rule{"perplexity-key", "Perplexity key"}, []string{"pplx-{a40-64}"}},
		{Rule{"cerebras-key", "Cerebras key"}, []string{"csk-{a40-64}"}},
		{Rule{"nvidia-key", "NVIDIA API key"}, []string{"nvapi-{w60-80}"}},
		{Rule{"fireworks-key", "Fireworks key"}, []string{"fw_{a22-32}"}},
		{Rule{"together-key", "Together key"}, []string{"tgp_v1_{w40-50}"}},
		{Rule{"elevenlabs-key", "ElevenLabs key"}, []string{"sk_{x48}"}},
		{Rule{"langsmith-key", "LangSmith key"}, []string{"lsv2_pt_{x32}_{x10}", "lsv2_sk_{x32}_{x10}"}},
		{Rule{"langfuse-key", "Langfuse secret key"}, []string{"sk-lf-{w36}"}},
		{Rule{"pinecone-key", "Pinecone key"}, []string{"pcsk_{_50-90}"}},
		{Rule{"tavily-key", "Tavily key"}, []string{"tvly-{w28-64}"}},
		{Rule{"firecrawl-key", "Firecrawl key"}, []string{"fc-{x32}"}},
		{Rule{"jina-key", "Jina key"}, []string{"jina_{_60-70}"}},
		{Rule{"databricks-token", "Databricks token"}, []string{"dapi{x32}", "dapi{x32}-{d1}", "dose{x32}"}},
	}
}

// serviceRules are those of everything else with a shape.
func serviceRules() []ruleShapes {
	return []ruleShapes{
		{Rule{"slack-token", "Slack token"}, []string{"xoxb-{w20-200}", "xoxp-{w20-200}", "xoxa-{w20-200}", "xoxr-{w20-200}", "xoxs-{w20-200}",
			"xoxo-{w20-200}", "xoxc-{w20-200}", "xoxd-{%40-400}", "xoxe-{w20-250}", "xapp-{w30-200}"}},
		{Rule{"slack-webhook", "Slack webhook"}, []string{"hooks.slack.com/services/{b40-60}", "hooks.slack.com/workflows/{b40-80}", "hooks.slack.com/triggers/{b40-80}"}},
		{Rule{ruleDiscord, "Discord bot token"}, nil},
		{Rule{"discord-webhook", "Discord webhook"}, []string{"discord.com/api/webhooks/{d17-20}/{w60-80}", "discordapp.com/api/webhooks/{d17-20}/{w60-80}"}},
		{Rule{ruleTelegram, "Telegram bot token"}, nil},
		{Rule{"twilio-key", "Twilio API key"}, []string{"SK{x32}"}},
		{Rule{"sendgrid-key", "SendGrid key"}, []string{"SG.{w16-32}.{w32-64}"}},
		{Rule{"mailgun-key", "Mailgun key"}, []string{"key-{x32}"}},
		{Rule{ruleMailchimp, "Mailchimp key"}, nil},
		{Rule{"brevo-key", "Brevo key"}, []string{"xkeysib-{x64}-{a16}"}},
		{Rule{"stripe-key", "Stripe key"}, []string{"sk_live_{a16-250}", "sk_test_{a16-250}", "rk_live_{a16-250}", "rk_test_{a16-250}", "sk_prod_{a16-250}", "whsec_{z32-80}"}},
		{Rule{"square-token", "Square token"}, []string{"sq0atp-{w22}", "sq0csp-{w43}", "EAAA{w60}"}},
		{Rule{"shopify-token", "Shopify token"}, []string{"shpat_{X32}", "shpca_{X32}", "shppa_{X32}", "shpss_{X32}"}},
		{Rule{"facebook-token", "Facebook token"}, []string{"EAAC{a90-300}", "EAAM{a90-300}"}},
		{Rule{"npm-token", "npm token"}, []string{"npm_{a36}"}},
		{Rule{"pypi-token", "PyPI token"}, []string{"pypi-AgE{w50-1000}"}},
		{Rule{"rubygems-key", "RubyGems key"}, []string{"rubygems_{x48}"}},
		{Rule{"crates-token", "crates.io token"}, []string{"cio{a32}"}},
		{Rule{"clojars-token", "Clojars token"}, []string{"CLOJARS_{a60}"}},
		{Rule{"docker-token", "Docker token"}, []string{"dckr_pat_{w24-64}", "dckr_oat_{w24-64}"}},
		{Rule{"artifactory-key", "Artifactory key"}, []string{"AKCp{a69}", "cmVmd{a59}"}},
		{Rule{ruleTerraform, "Terraform Cloud token"}, nil},
		{Rule{"vault-token", "Vault token"}, []string{"hvs.{w24-300}", "hvb.{w100-400}"}},
		{Rule{"doppler-token", "Doppler token"}, []string{"dp.pt.{a40-44}", "dp.st.{j40-80}", "dp.sa.{a40-44}", "dp.ct.{a40-44}"}},
		{Rule{"1password-token", "1Password service account token"}, []string{"ops_eyJ{z200-2000}"}},
		{Rule{"age-key", "age secret key"}, []string{"AGE-SECRET-KEY-1{U58}"}},
		{Rule{"pulumi-token", "Pulumi token"}, []string{"pul-{x40}"}},
		{Rule{"tailscale-key", "Tailscale key"}, []string{"tskey-{w24-100}"}},
		{Rule{"grafana-token", "Grafana token"}, []string{"glsa_{a32}_{X8}", "glc_{z32-400}"}},
		{Rule{"sentry-token", "Sentry token"}, []string{"sntrys_{z60-500}", "sntryu_{x64}"}},
		{Rule{"newrelic-key", "New Relic key"}, []string{"NRAK-{U27}"}},
		{Rule{"dynatrace-token", "Dynatrace token"}, []string{"dt0c01.{U24}.{U64}"}},
		{Rule{"posthog-key", "PostHog personal key"}, []string{"phx_{a40-60}"}},
		{Rule{"sonar-token", "SonarQube token"}, []string{"sqp_{x40}", "squ_{x40}", "sqa_{x40}"}},
		{Rule{"circleci-token", "CircleCI token"}, []string{"CCIPAT_{_40-80}"}},
		{Rule{"buildkite-token", "Buildkite token"}, []string{"bkua_{x40}"}},
		{Rule{"linear-key", "Linear key"}, []string{"lin_api_{a32-48}", "lin_oauth_{a32-64}"}},
		{Rule{"notion-token", "Notion token"}, []string{"ntn_{a40-60}", "secret_{a43}"}},
		{Rule{"airtable-token", "Airtable token"}, []string{"pat{a14}.{x64}"}},
		{Rule{"figma-token", "Figma token"}, []string{"figd_{w36-64}"}},
		{Rule{"postman-key", "Postman key"}, []string{"PMAK-{x24}-{x34}"}},
		{Rule{"hubspot-token", "HubSpot token"}, []string{"pat-na1-{w36}", "pat-na2-{w36}", "pat-eu1-{w36}"}},
		{Rule{"netlify-token", "Netlify token"}, []string{"nfp_{a36-48}"}},
		{Rule{"supabase-key", "Supabase key"}, []string{"sbp_{x40}", "sb_secret_{w20-64}"}},
		{Rule{"planetscale-token", "PlanetScale token"}, []string{"pscale_tkn_{j32-64}", "pscale_oauth_{j32-64}", "pscale_pw_{j32-64}"}},
		{Rule{"openshift-token", "OpenShift token"}, []string{"sha256~{w43}"}},
		{Rule{"contentful-token", "Contentful token"}, []string{"CFPAT-{w43}"}},
		{Rule{"typeform-token", "Typeform token"}, []string{"tfp_{j40-64}"}},
	}
}

// trigger is a literal at which the automaton stops, and what is done there.
type trigger struct {
	literal string
	shape   *shape // nil: look
	look    func(w *walker, text []byte, start, end int)
}

// allTriggers are the heads of all shapes, and what the other rules go by.
func allTriggers(alphabets map[byte]*set) []trigger {
	var out []trigger
	for _, r := range table() {
		for _, text := range r.shapes {
			parts := parseShape(alphabets, text)
			out = append(out, trigger{literal: parts[0].literal, shape: &shape{rule: r.ID, parts: parts}})
		}
	}
	out = append(out,
		trigger{literal: "-----begin", look: (*walker).privateKey},
		trigger{literal: "eyj", look: (*walker).jwt},
		trigger{literal: "://", look: (*walker).url},
		trigger{literal: "basic ", look: (*walker).basic},
		trigger{literal: ":aa", look: (*walker).telegram},
		trigger{literal: "q~", look: (*walker).azureClient},
		trigger{literal: "sig=", look: (*walker).azureSignature},
		trigger{literal: "-us", look: (*walker).mailchimp},
		trigger{literal: ".atlasv1.", look: (*walker).terraform},
		trigger{literal: "discord", look: (*walker).discord},
		trigger{literal: "curl", look: (*walker).curl},
		trigger{literal: "sshpass", look: (*walker).sshpass},
	)
	for _, word := range []string{"pass", "pwd", "secret", "token", "key", "auth", "bearer", "credential"} {
		out = append(out, trigger{literal: word, look: (*walker).word})
	}
	return out
}
