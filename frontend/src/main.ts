// Where the page of a file starts.

import { talkToParent } from "./embedded.ts";
import { sourceOfPage } from "./payload.ts";
import { start } from "./start.ts";

void start(sourceOfPage).then(talkToParent);
