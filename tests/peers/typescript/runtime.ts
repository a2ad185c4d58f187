// Asks the Runtime API for work, as Lambda's own client for Node.js does, which needs a compiler and Node.js 22: one
// connection that is kept, one invocation at a time.

import { Agent, request } from 'node:http';
import type { Context } from 'aws-lambda';
import { handler } from './handler.js';

const [hostname, port] = (process.env.AWS_LAMBDA_RUNTIME_API ?? '').split(':');
const agent = new Agent({ keepAlive: true, maxSockets: 1, noDelay: true });
const invocation = '/2018-06-01/runtime/invocation';

type Answer = { headers: Record<string, string>; body: string };

const call = (method: string, path: string, body?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, agent }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ headers: answer.headers as Record<string, string>, body: Buffer.concat(parts).toString() })
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });

for (;;) {
  const next = await call('GET', `${invocation}/next`);
  const awsRequestId = next.headers['lambda-runtime-aws-request-id'];
  const deadline = Number(next.headers['lambda-runtime-deadline-ms']);
  const context = {
    awsRequestId,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    invokedFunctionArn: next.headers['lambda-runtime-invoked-function-arn'],
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    getRemainingTimeInMillis: () => deadline - Date.now(),
  } as Context;
  try {
    const answer = await handler(JSON.parse(next.body), context);
    await call('POST', `${invocation}/${awsRequestId}/response`, JSON.stringify(answer));
  } catch (error) {
    const { name, message } = error as Error;
    await call('POST', `${invocation}/${awsRequestId}/error`, JSON.stringify({ errorType: name, errorMessage: message }));
  }
}
