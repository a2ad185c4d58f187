// Debian's Chromium, a host of its own for each worker, screenshots where people look for them.

import { defineConfig } from '@playwright/test';

const FLAGS = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.js',
  outputDir: '../../target/browser-tests',
  workers: 2,
  fullyParallel: true,
  forbidOnly: true,
  timeout: 90_000,
  expect: { timeout: 20_000 },
  reporter: [['list']],
  use: {
    viewport: { width: 1280, height: 860 },
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'Europe/Rome',
    permissions: ['clipboard-read', 'clipboard-write'],
    trace: 'retain-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      // The sandbox needs rights that root in a container has not.
      args: process.getuid?.() === 0 ? ['--no-sandbox', ...FLAGS] : FLAGS,
    },
  },
});
